package bus_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// TestWorkerLostWithoutGoodbye holds that requests for a worker that is not
// there any more go elsewhere, as NATS says that nobody took them.
func TestWorkerLostWithoutGoodbye(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	doomed := bustest.Connect(t, s)
	w, _ := startWorkerWith(t, doomed, bus.ConsumerConfig{Address: address, Slots: 8, Version: "1.2.3"}, result)
	var ran ledger
	startWorker(t, s, 4, ran.handle)
	log, records := recordLog(t)
	c, err := bus.OpenClient(bustest.ConnectIngress(t, s), bus.ClientConfig{Realm: address.Realm}, log)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	knows(t, c, 2)
	raw := newRawIngress(t, s, w)

	doomed.Close()
	raw.waitUntilGone(t)
	for i := range 20 {
		assert.Zero(t, c.Handle(t.Context(), request(t, i, "echo"), noNotifications(t)).Code)
	}
	ran.requireOnce(t, 20)
	assert.Equal(t, 1, c.Workers(address.Pool))
	assert.Equal(t, 1, records.count("worker has no subscription, forgetting it"))
}

func TestWorkerDoesNotOutliveItsConnection(t *testing.T) {
	t.Parallel()
	conn := bustest.Connect(t, bustest.StartServer(t))
	w, err := bus.NewConsumer(conn, mcp.HandlerFunc(result), bus.ConsumerConfig{Address: address, Version: "1.2.3"}, bustest.Log(t))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(t.Context()) }()
	require.Eventually(t, w.Ready, bustest.Patience, time.Millisecond)
	conn.Close()
	require.ErrorIs(t, receive(t, ended), nats.ErrConnectionClosed)
	assert.False(t, w.Ready())
}

// TestLastWorkerLost holds that those who wait are told.
func TestLastWorkerLost(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	doomed := bustest.Connect(t, s)
	g := newGate()
	w, _ := startWorkerWith(t, doomed, bus.ConsumerConfig{Address: address, Slots: 1, Version: "1.2.3"}, g.handle)
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	raw := newRawIngress(t, s, w)
	doomed.Close()
	raw.waitUntilGone(t)
	assert.Equal(t, mcp.CodeNoWorkers, c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t)).Code)
	assert.Empty(t, g.entered)
}

// restartable starts a server that can be started again on the same port.
func restartable(t *testing.T) (s *embedded.Server, restart func()) {
	t.Helper()
	start := func(listen string) *embedded.Server {
		s, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: listen}, bustest.Log(t))
		require.NoError(t, err)
		return s
	}
	first := start("127.0.0.1:0")
	last := first
	t.Cleanup(func() { last.Close() }) // after all that connects to it
	u, err := url.Parse(first.ClientURL())
	require.NoError(t, err)
	return first, func() { last = start(u.Host) }
}

func down(t *testing.T, conn *bus.Conn) {
	t.Helper()
	require.Eventually(t, func() bool {
		up, _ := conn.Up()
		return !up
	}, bustest.Patience, time.Millisecond)
}

func TestServerComesBack(t *testing.T) {
	t.Parallel()
	s, restart := restartable(t)
	var ran ledger
	workerConn, ingressConn := bustest.Connect(t, s), bustest.ConnectIngress(t, s)
	w, _ := startWorkerWith(t, workerConn, bus.ConsumerConfig{Address: address, Slots: 4, Version: "1.2.3"}, ran.handle)
	c := openClientOn(t, ingressConn, bus.ClientConfig{})
	knows(t, c, 1)
	require.Zero(t, c.Handle(t.Context(), request(t, 0, "echo"), noNotifications(t)).Code)

	s.Close()
	down(t, ingressConn)
	down(t, workerConn)
	assert.False(t, w.Ready())
	var responses []<-chan *mcp.Response
	for i := range 20 {
		responses = append(responses, handle(t, c, request(t, i+1, "echo")))
	}
	require.Eventually(t, func() bool { return c.Kept() >= 20 }, bustest.Patience, time.Millisecond)
	buffered, err := ingressConn.Buffered()
	require.NoError(t, err)
	assert.Zero(t, buffered, "what is sent later may not be sent unseen")

	restart()
	for _, r := range responses {
		assert.Zero(t, receive(t, r).Code)
	}
	ran.requireOnce(t, 21)
	require.Eventually(t, w.Ready, bustest.Patience, time.Millisecond)
	assert.Zero(t, c.Kept())
}

// TestCallInFlightOutlastsAnOutage has a call that is over when both ends are
// connected again.
func TestCallInFlightOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	s, restart := restartable(t)
	g := newGate()
	workerConn, ingressConn := bustest.Connect(t, s), bustest.ConnectIngress(t, s)
	w, _ := startWorkerWith(t, workerConn, bus.ConsumerConfig{Address: address, Slots: 1, Version: "1.2.3"}, g.handle)
	c := openClientOn(t, ingressConn, bus.ClientConfig{})
	response := handle(t, c, request(t, 1, "echo"))
	receive(t, g.entered)
	s.Close()
	down(t, ingressConn)
	down(t, workerConn)
	restart()
	receive(t, ingressConn.Connected())
	receive(t, workerConn.Connected())
	require.NoError(t, ingressConn.Flush()) // the server has its subscriptions
	close(g.leave)
	assert.Zero(t, receive(t, response).Code)
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
}

func TestLongOutageIsRefused(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	startWorker(t, s, 1, g.handle)
	conn := bustest.ConnectIngress(t, s)
	c := openClientOn(t, conn, bus.ClientConfig{})
	knows(t, c, 1)
	s.Close()
	down(t, conn)
	began := time.Now()
	atOnce := handle(t, c, request(t, 1, "echo")) // the worker is still known
	knows(t, c, 0)
	later := handle(t, c, request(t, 2, "echo"))
	for _, response := range []<-chan *mcp.Response{atOnce, later} {
		assert.Equal(t, mcp.CodeNoWorkers, receive(t, response).Code)
		assert.Greater(t, time.Since(began), 4*time.Second)
	}
	assert.Empty(t, g.entered)
	assert.Zero(t, c.Queued(address.Pool))
}
