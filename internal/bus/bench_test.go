package bus_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
)

// BenchmarkHop is a request's way from the client through NATS to a handler and
// back, all in one process.
func BenchmarkHop(b *testing.B) {
	s := bustest.StartServer(b)
	startWorker(b, s, 64, result)
	c := openClient(b, s, bus.ClientConfig{})
	knows(b, c, 1)
	req := request(b, 1, "echo")
	notify := noNotifications(b)
	var failed atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if c.Handle(b.Context(), req, notify).Code != 0 {
				failed.Add(1)
			}
		}
	})
	require.Zero(b, failed.Load())
}
