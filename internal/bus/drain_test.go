package bus_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// TestRollingRestart replaces all workers, one after the other, under load.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	var ran ledger
	var stops []func() error
	for range 4 {
		_, stop := startWorker(t, s, 4, ran.handle)
		stops = append(stops, stop)
	}
	clients := []*bus.Client{openClient(t, s, bus.ClientConfig{}), openClient(t, s, bus.ClientConfig{})}
	for _, c := range clients {
		knows(t, c, 4)
	}
	l := startLoad(t, clients, 8, 1_000_000)
	for _, stop := range stops {
		startWorker(t, s, 4, ran.handle)
		before := l.lastID.Load()
		assert.NoError(t, stop())
		assert.Greater(t, l.lastID.Load(), before, "requests went on")
	}
	close(l.stop)
	l.wait.Wait()
	assert.Zero(t, l.failed.Load())
	ran.requireOnce(t, int(l.lastID.Load()))
	for _, c := range clients {
		knows(t, c, 4)
		assert.Zero(t, c.Kept())
	}
}

// stopping calls stop in the background and waits until the worker drains.
func stopping(t *testing.T, w *bus.Consumer, stop func() error) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- stop() }()
	require.Eventually(t, func() bool { return !w.Ready() }, bustest.Patience, time.Millisecond)
	return done
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, stop := startWorker(t, s, 2, g.handle)
	c := openClient(t, s, bus.ClientConfig{})
	response := handle(t, c, request(t, 1, "echo"))
	receive(t, g.entered)
	adverts := make(chan *nats.Msg, 100)
	raw := newRawIngress(t, s, w)
	_, err := raw.ChanSubscribe("mcp.v1.test.default.adv."+w.ID(), adverts)
	require.NoError(t, err)
	require.NoError(t, raw.Flush())

	done := stopping(t, w, stop)
	knows(t, c, 0)
	raw.send(t, "1", toolCall(2, "echo"), time.Minute, time.Minute)
	_, frame, _ := raw.next(t)
	assert.Equal(t, "d-1-1", frame)
	assert.Empty(t, done)
	assert.Empty(t, g.ended)

	close(g.leave)
	assert.Zero(t, receive(t, response).Code)
	require.NoError(t, receive(t, done))
	assert.Empty(t, g.entered, "what came late was not started")

	var states []string
	for !slices.Contains(states, "gone") {
		states = append(states, decodeState(t, receive(t, adverts)))
	}
	assert.Equal(t, []string{"up", "draining", "gone"}, slices.Compact(append([]string{"up"}, states...)))
	raw.waitUntilGone(t)
}

func decodeState(t *testing.T, m *nats.Msg) string {
	t.Helper()
	_, state, _ := strings.Cut(string(m.Data), `"state":"`)
	state, _, ok := strings.Cut(state, `"`)
	require.True(t, ok, "%s", m.Data)
	return state
}

func TestDrainWithGraceOverLetsHandlersAnswer(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	_, stop := startWorkerWith(t, bustest.Connect(t, s),
		bus.ConsumerConfig{Address: address, Slots: 1, Grace: time.Millisecond, Version: "1.2.3"}, g.handle)
	c := openClient(t, s, bus.ClientConfig{})
	response := handle(t, c, request(t, 1, "echo"))
	receive(t, g.entered)
	require.NoError(t, stop())
	require.ErrorIs(t, receive(t, g.ended), context.Canceled)
	assert.Equal(t, -32603, receive(t, response).Code, "the handler's own word")
}

func TestDrainLeavesStuckHandlersBehind(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	defer close(g.leave)
	w, stop := startWorkerWith(t, bustest.Connect(t, s),
		bus.ConsumerConfig{Address: address, Slots: 2, Grace: time.Millisecond, Version: "1.2.3"}, g.stubborn)
	c := openClient(t, s, bus.ClientConfig{})
	response := handle(t, c, request(t, 1, "echo"))
	receive(t, g.entered)
	require.ErrorContains(t, stop(), "1 handlers")
	res := receive(t, response)
	assert.Equal(t, mcp.CodeOutcomeUnknown, res.Code)
	assert.False(t, *decode(t, res.Body).Error.Data.Retryable)

	g.leave <- struct{}{} // the handler returns after all
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
}

func TestDrainedWorkersRequestsGoElsewhere(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, stop := startWorker(t, s, 1, g.handle)
	c := openClient(t, s, bus.ClientConfig{})
	first := handle(t, c, request(t, 1, "echo"))
	receive(t, g.entered)
	second := handle(t, c, request(t, 2, "echo"))
	queued(t, c, 1)
	done := stopping(t, w, stop)
	startWorker(t, s, 1, result)
	assert.Zero(t, receive(t, second).Code)
	close(g.leave)
	assert.Zero(t, receive(t, first).Code)
	require.NoError(t, receive(t, done))
}
