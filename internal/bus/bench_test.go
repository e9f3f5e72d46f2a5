package bus_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// hop returns a request's way from the client through NATS to a handler and back,
// all in one process.
func hop(t testing.TB) func() (ok bool) {
	t.Helper()
	s := bustest.StartServer(t)
	body := []byte(`{}`)
	startWorker(t, s, 64, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ResultResponse(req.ID, body)
	})
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	req := request(t, 1, "echo")
	notify := noNotifications(t)
	return func() bool { return c.Handle(t.Context(), req, notify).Code == 0 }
}

func BenchmarkHop(b *testing.B) {
	call := hop(b)
	var failed atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !call() {
				failed.Add(1)
			}
		}
	})
	require.Zero(b, failed.Load())
}
