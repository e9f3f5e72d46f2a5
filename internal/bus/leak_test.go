package bus_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// mixed answers at once, with notifications, with an error, or when its context
// ends, depending on the tool.
func mixed(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	switch name, _ := req.Target(); name {
	case "chatty":
		for range 5 {
			notify([]byte("{}"))
		}
	case "faulty":
		return mcp.ErrorResponse(req.ID, mcp.InternalError())
	case "endless":
		<-ctx.Done()
	}
	return result(ctx, req, notify)
}

// TestNothingIsKept runs alone, since it counts goroutines.
func TestNothingIsKept(t *testing.T) {
	s := bustest.StartServer(t)
	workerConn, ingressConn := bustest.Connect(t, s), bustest.ConnectIngress(t, s)
	w, _ := startWorkerWith(t, workerConn, bus.ConsumerConfig{Address: address, Slots: 8, Version: "1.2.3"}, mixed)
	c := openClientOn(t, ingressConn, bus.ClientConfig{MaxQueue: 8})
	knows(t, c, 1)
	require.Zero(t, c.Handle(t.Context(), request(t, 0, "quick"), noNotifications(t)).Code)
	goroutines := runtime.NumGoroutine()
	workerSubs, ingressSubs, inboxes := workerConn.NumSubscriptions(), ingressConn.NumSubscriptions(), c.Inboxes()

	tools := []string{"quick", "chatty", "faulty", "endless", "quick"}
	codes := map[int]int{}
	var mu sync.Mutex // guards codes
	var next atomic.Int64
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			for i := next.Add(1); i <= 1000; i = next.Add(1) {
				req := request(t, int(i), tools[i%5])
				if i%100 == 0 {
					req.Pool = "nobody"
				}
				patience := bustest.Patience
				if i%5 == 3 { // endless
					patience = 10 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				res := c.Handle(ctx, req, func([]byte) {})
				cancel()
				mu.Lock()
				codes[res.Code]++
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	for _, code := range []int{0, -32603, mcp.CodeDeadlineExceeded, mcp.CodeOverloaded, mcp.CodeNoWorkers} {
		assert.Positive(t, codes[code], "among them was a response with code %d", code)
	}

	assert.Zero(t, c.Kept())
	assert.Equal(t, 1, c.Pools())
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
	assert.Equal(t, workerSubs, workerConn.NumSubscriptions())
	assert.Equal(t, ingressSubs, ingressConn.NumSubscriptions()-c.Inboxes()+inboxes)
	// Eventually asks in a goroutine of its own.
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, bustest.Patience, time.Millisecond)
}

func TestNoSubscriptionIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	conn := bustest.Connect(t, s)
	_, stop := startWorkerWith(t, conn, bus.ConsumerConfig{Address: address, Version: "1.2.3"}, result)
	c, err := bus.OpenClient(conn, bus.ClientConfig{Realm: "test"}, bustest.Log(t))
	require.NoError(t, err)
	assert.Positive(t, conn.NumSubscriptions())
	require.NoError(t, stop())
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return conn.NumSubscriptions() == 0 }, bustest.Patience, time.Millisecond)
}
