package bus_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// ask decodes the answer to a request on subject.
func ask[T any](t *testing.T, nc *nats.Conn, subject string) (answer T) {
	t.Helper()
	m, err := nc.Request(subject, nil, bustest.Patience)
	require.NoError(t, err, subject)
	require.NoError(t, json.Unmarshal(m.Data, &answer), "%s", m.Data)
	return answer
}

// discover decodes the data of a worker's statistics.
func discover(t *testing.T, nc *nats.Conn, subject string, data any) micro.Stats {
	t.Helper()
	stats := ask[micro.Stats](t, nc, subject)
	require.Len(t, stats.Endpoints, 1)
	require.NoError(t, json.Unmarshal(stats.Endpoints[0].Data, data))
	return stats
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, _ := startWorkerWith(t, bustest.Connect(t, s),
		bus.ConsumerConfig{Address: address, Slots: 7, Version: "1.2.3-rc.1+build"}, result)
	nc := rawConn(t, s)
	identity := micro.ServiceIdentity{
		Name: "mcpyard-test-default", ID: w.ID(), Version: "1.2.3-rc.1+build",
		Metadata: map[string]string{"protocol": "mcp.v1", "realm": "test", "pool": "default"},
	}
	for _, whom := range []string{"", ".mcpyard-test-default", ".mcpyard-test-default." + w.ID()} {
		ping := ask[micro.Ping](t, nc, "$SRV.PING"+whom)
		assert.Equal(t, micro.Ping{ServiceIdentity: identity, Type: micro.PingResponseType}, ping)

		info := ask[micro.Info](t, nc, "$SRV.INFO"+whom)
		assert.Equal(t, identity, info.ServiceIdentity)
		assert.Equal(t, micro.InfoResponseType, info.Type)
		assert.Equal(t, []micro.EndpointInfo{{Name: "call", Subject: "mcp.v1.test.default.q.*", QueueGroup: "q"}}, info.Endpoints)

		stats := ask[micro.Stats](t, nc, "$SRV.STATS"+whom)
		assert.Equal(t, identity, stats.ServiceIdentity)
		assert.Equal(t, micro.StatsResponseType, stats.Type)
		assert.WithinDuration(t, time.Now(), stats.Started, time.Minute)
	}

	// Package micro itself takes the name and version.
	service, err := micro.AddService(nc, micro.Config{Name: identity.Name, Version: identity.Version})
	require.NoError(t, err)
	require.NoError(t, service.Stop())
}

func TestDiscoveryFindsEveryWorkerOnce(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	want := map[string]int{}
	for range 3 {
		w, _ := startWorker(t, s, 1, result)
		want[w.ID()] = 1
	}
	nc := rawConn(t, s)
	answers := make(chan *nats.Msg, 10)
	inbox := nc.NewInbox()
	_, err := nc.ChanSubscribe(inbox, answers)
	require.NoError(t, err)
	require.NoError(t, nc.PublishRequest("$SRV.PING", inbox, nil))
	got := map[string]int{}
	for range want {
		var ping micro.Ping
		require.NoError(t, json.Unmarshal(receive(t, answers).Data, &ping))
		got[ping.ID]++
	}
	assert.Equal(t, want, got)
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, _ := startWorker(t, s, 3, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if name, _ := req.Target(); name == "bad" {
			return mcp.ErrorResponse(req.ID, mcp.InternalError())
		}
		return result(ctx, req, notify)
	})
	c := openClient(t, s, bus.ClientConfig{})
	nc := rawConn(t, s)
	for i, name := range []string{"good", "bad", "good", "good"} {
		c.Handle(t.Context(), request(t, i, name), noNotifications(t))
	}
	_, err := nc.Request("mcp.v1.test.default.q.good", []byte(toolCall(9, "good")), bustest.Patience)
	require.NoError(t, err)

	var data map[string]int64
	stats := discover(t, nc, "$SRV.STATS.mcpyard-test-default."+w.ID(), &data)
	assert.Equal(t, 5, stats.Endpoints[0].NumRequests)
	assert.Equal(t, 1, stats.Endpoints[0].NumErrors)
	assert.Positive(t, stats.Endpoints[0].ProcessingTime)
	assert.Equal(t, stats.Endpoints[0].ProcessingTime/5, stats.Endpoints[0].AverageProcessingTime)
	assert.Equal(t, map[string]int64{
		"slots": 3, "freeSlots": 3, "stuckHandlers": 0, "sentAgain": 0, "unsentReplies": 0, "slowConsumers": 0, "permissionErrors": 0, "reconnects": 0,
	}, data)
}
