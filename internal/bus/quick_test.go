package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// TestQuickToolThatBlocks holds that a call which was expected to be quick, and
// is not, holds up nobody.
func TestQuickToolThatBlocks(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	blocks := make(chan bool, 1000)
	w, _ := startWorker(t, s, 8, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if <-blocks {
			return g.handle(ctx, req, notify)
		}
		return result(ctx, req, notify)
	})
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	for range 10 { // rounds: each call that blocks makes the tool one that is not quick
		for i := range 40 {
			blocks <- false
			assert.Zero(t, c.Handle(t.Context(), request(t, i, "echo"), noNotifications(t)).Code)
		}
		var responses []<-chan *mcp.Response
		for i := range 8 {
			blocks <- true
			responses = append(responses, handle(t, c, request(t, i, "echo")))
			receive(t, g.entered)
		}
		for range responses {
			g.leave <- struct{}{}
		}
		for _, r := range responses {
			assert.Zero(t, receive(t, r).Code)
		}
	}
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
}
