package task_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/task"
)

// startCluster starts three servers with JetStream, and waits until they are one.
func startCluster(t *testing.T) (servers []*server.Server) {
	t.Helper()
	var ports []int
	var routes []*url.URL
	for range 3 { // they have to know each other before they start
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		routes = append(routes, &url.URL{Scheme: "nats", Host: ln.Addr().String()})
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
		ln.Close()
	}
	for n, port := range ports {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", n), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		require.True(t, s.ReadyForConnections(bustest.Patience))
		servers = append(servers, s)
	}
	require.Eventually(t, func() bool {
		leaders := 0
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers) {
				leaders++
			}
		}
		return leaders == 1
	}, 3*bustest.Patience, 10*time.Millisecond)
	return servers
}

// The loss of the server that leads the streams loses and doubles nothing.
func TestLossOfTheLeader(t *testing.T) {
	servers := startCluster(t)
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	p := &pool{cfg: bus.TasksConfig{Address: bus.Address{Realm: "test", Pool: "default"}, Replicas: 3}}
	storage := func() *bus.Tasks {
		conn, err := bus.Connect(t.Context(), bus.ConnConfig{URL: strings.Join(urls, ","), Wait: bustest.Patience, Buffer: 1 << 20}, bustest.Log(t))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		s, err := bus.OpenTasks(t.Context(), conn, p.cfg, bustest.Log(t))
		require.NoError(t, err)
		return s
	}
	const tasks = 40
	var runs [tasks]atomic.Int32
	exec := tools{"count": func(ctx context.Context, w *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
		var n int
		if _, err := fmt.Sscan(string(w.Arguments), &n); err != nil {
			return mcp.TaskOutcome{Err: mcp.InternalError()}
		}
		runs[n].Add(1)
		select {
		case <-time.After(20 * time.Millisecond):
			return done("ok")
		case <-ctx.Done():
			return ended(ctx)
		}
	}}
	for range 2 {
		p.workerOn(t, storage(), exec, func(cfg *task.Config) { cfg.Slots, cfg.Settle = 2, bustest.Patience })
	}
	s := task.NewService(storage(), p.config(), bustest.Log(t))
	var ids []string
	for n := range tasks {
		if n == tasks/2 {
			leader := leaderOf(t, servers, "KV_mcpyard-tasks-test-default")
			leader.Shutdown()
			leader.WaitForShutdown()
		}
		w := work("count")
		w.Arguments = jsontext.Value(fmt.Sprint(n))
		created, err := s.Create(t.Context(), w)
		if err != nil {
			continue // it was not accepted
		}
		ids = append(ids, created.ID)
	}
	assert.GreaterOrEqual(t, len(ids), tasks/2)
	for _, id := range ids {
		require.Eventually(t, func() bool {
			found, err := s.Get(t.Context(), "ada", id)
			return err == nil && found.Status == mcp.TaskCompleted
		}, 3*bustest.Patience, 10*time.Millisecond)
	}
	for n := range runs {
		assert.LessOrEqual(t, runs[n].Load(), int32(1))
	}
}

func leaderOf(t *testing.T, servers []*server.Server, stream string) *server.Server {
	t.Helper()
	var leader *server.Server
	require.Eventually(t, func() bool {
		for _, s := range servers {
			if s.JetStreamIsStreamLeader("$G", stream) {
				leader = s
			}
		}
		return leader != nil
	}, bustest.Patience, 10*time.Millisecond)
	return leader
}
