package bus_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// TestQuickToolThatBlocks holds that a call which was expected to be quick, and
// is not, holds up nobody: under load, one after the other is held back, and the
// others go on.
func TestQuickToolThatBlocks(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	var answered atomic.Int64
	hold := make(chan struct{}, 1)
	w, _ := startWorker(t, s, 64, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		select {
		case <-hold:
			return g.handle(ctx, req, notify)
		default:
			answered.Add(1)
			return result(ctx, req, notify)
		}
	})
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	l := startLoad(t, []*bus.Client{c}, 32, 1_000_000)
	goesOn := func() {
		before := answered.Load()
		require.Eventually(t, func() bool { return answered.Load() > before+200 }, bustest.Patience, time.Millisecond)
	}
	for range 20 {
		goesOn() // it is quick again
		hold <- struct{}{}
		receive(t, g.entered)
		goesOn()
	}
	close(g.leave)
	close(l.stop)
	l.wait.Wait()
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
}
