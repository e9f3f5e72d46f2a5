package bus_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// startSecured starts a server with a user "worker", whose password is
// "secret", and these permissions.
func startSecured(t *testing.T, permissions *server.Permissions) (host string) {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		Users: []*server.User{{Username: "worker", Password: "secret", Permissions: permissions}},
	})
	require.NoError(t, err)
	ns.Start()
	t.Cleanup(func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	})
	require.True(t, ns.ReadyForConnections(bustest.Patience))
	return strings.TrimPrefix(ns.ClientURL(), "nats://")
}

func connectTo(t *testing.T, url string, wait time.Duration) (*bus.Conn, error) {
	t.Helper()
	return bus.Connect(t.Context(), bus.ConnConfig{URL: url, Wait: wait}, bustest.Log(t))
}

// deadAddress is where nobody listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	return ln.Addr().String()
}

func TestConnectGivesUp(t *testing.T) {
	t.Parallel()
	address := deadAddress(t)
	began := time.Now()
	_, err := connectTo(t, "nats://"+address, 200*time.Millisecond)
	require.ErrorContains(t, err, "nats://"+address)
	require.ErrorContains(t, err, "200ms")
	assert.Greater(t, time.Since(began), 200*time.Millisecond)
	assert.Less(t, time.Since(began), bustest.Patience)
}

// TestConnectGivesUpOnSilence has a listener that is no NATS server.
func TestConnectGivesUpOnSilence(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	_, err = connectTo(t, ln.Addr().String(), 200*time.Millisecond)
	require.ErrorContains(t, err, "does not answer within 200ms")
}

func TestConnectWaitsForTheServer(t *testing.T) {
	t.Parallel()
	address := deadAddress(t)
	connected := make(chan *bus.Conn, 1)
	go func() {
		conn, err := connectTo(t, address, bustest.Patience)
		assert.NoError(t, err)
		connected <- conn
	}()
	s, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: address}, bustest.Log(t))
	require.NoError(t, err)
	defer s.Close()
	conn := receive(t, connected)
	require.NotNil(t, conn)
	defer conn.Close()
	up, _ := conn.Up()
	assert.True(t, up)
}

func TestConnectInProcess(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()}, bustest.Log(t))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	conn, err := bus.Connect(t.Context(), bus.ConnConfig{InProcess: s, Wait: bustest.Patience}, bustest.Log(t))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	startWorkerWith(t, conn, bus.ConsumerConfig{Address: bus.Address{Realm: "test", Pool: "default"}, Version: "1.2.3"}, result)
	c := openClientOn(t, conn, bus.ClientConfig{})
	assert.Zero(t, c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t)).Code)
}

func TestConnectWithWrongCredentials(t *testing.T) {
	t.Parallel()
	host := startSecured(t, nil)
	conn, err := connectTo(t, "nats://worker:secret@"+host, bustest.Patience)
	require.NoError(t, err)
	conn.Close()
	for _, user := range []string{"", "worker:wrong@", "stranger:secret@", "token@"} {
		began := time.Now()
		_, err := connectTo(t, "nats://"+user+host, time.Minute)
		require.ErrorIs(t, err, nats.ErrAuthorization, user)
		require.ErrorContains(t, err, host)
		assert.Less(t, time.Since(began), bustest.Patience, "at once")
	}
}

func TestConnectErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	address := deadAddress(t)
	for _, url := range []string{
		"nats://worker:secret@" + address,
		"nats://secret@" + address,
		"worker:secret@" + address,
		"nats://" + address + ", nats://worker:secret@" + address,
		"nats://worker:secret%zz@" + address,
		"nats://worker:secret@" + address + ":port",
	} {
		_, err := connectTo(t, url, 10*time.Millisecond)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestConnectWithoutCredentialsFile(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	file := filepath.Join(t.TempDir(), "absent.creds")
	_, err := bus.Connect(t.Context(), bus.ConnConfig{URL: s.ClientURL(), Credentials: file, Wait: 10 * time.Millisecond}, bustest.Log(t))
	require.ErrorContains(t, err, "absent.creds")
}

func TestPermissionViolationIsCountedAndLogged(t *testing.T) {
	t.Parallel()
	host := startSecured(t, &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{"mcp.v1.*.r.>"}},
		Subscribe: &server.SubjectPermission{Deny: []string{"$SRV.>"}},
	})
	log, records := recordLog(t)
	conn, err := bus.Connect(t.Context(), bus.ConnConfig{URL: "nats://worker:secret@" + host, Wait: bustest.Patience}, log)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	startWorkerWith(t, conn, bus.ConsumerConfig{Address: address, Version: "1.2.3"}, result)
	require.Eventually(t, func() bool { return bus.Counters(conn)["permissionErrors"] == 9 }, bustest.Patience, time.Millisecond)
	assert.Equal(t, 3, records.count("Permissions Violation for Subscription to \\\"$SRV.PING"))

	c := openClientOn(t, conn, bus.ClientConfig{Deadline: time.Second})
	knows(t, c, 1)
	res := c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t))
	assert.Equal(t, mcp.CodeDeadlineExceeded, res.Code)
	require.Eventually(t, func() bool { return bus.Counters(conn)["permissionErrors"] > 9 }, bustest.Patience, time.Millisecond)
	records.waitFor(t, "Permissions Violation for Publish to")
}

func TestSlowConsumerIsCounted(t *testing.T) {
	t.Parallel()
	conn := bustest.Connect(t, bustest.StartServer(t))
	_, err := conn.ChanSubscribe("news", make(chan *nats.Msg, 1))
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, conn.Publish("news", nil))
	}
	require.Eventually(t, func() bool { return bus.Counters(conn)["slowConsumers"] == 1 }, bustest.Patience, time.Millisecond)
}

func TestClosedConnectionIsDown(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	conn := bustest.ConnectIngress(t, s)
	c := openClientOn(t, conn, bus.ClientConfig{})
	startWorker(t, s, 1, result)
	knows(t, c, 1)
	conn.Close()
	res := c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t))
	assert.Equal(t, mcp.CodeNoWorkers, res.Code)
	down(t, conn)
}

// TestHold holds that a connection which will not come back is an error, with what
// the server said.
func TestHold(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	conn := bustest.ConnectIngress(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, conn.Hold(ctx))

	require.NoError(t, conn.Publish(strings.Repeat("x", 5000), nil))
	held := make(chan error, 1)
	go func() { held <- conn.Hold(t.Context()) }()
	err := receive(t, held)
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	require.ErrorContains(t, err, "maximum control line exceeded")
	down(t, conn)
}
