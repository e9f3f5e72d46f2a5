package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestDeadlineOfAStartedCall(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 1, g.handle)
	c := openClient(t, s, bus.ClientConfig{Deadline: time.Second})
	knows(t, c, 1)
	began := time.Now()
	res := c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t))
	assert.GreaterOrEqual(t, time.Since(began), time.Second)
	assert.Equal(t, mcp.CodeDeadlineExceeded, res.Code)
	assert.True(t, *decode(t, res.Body).Error.Data.Started)
	require.Error(t, receive(t, g.ended), "the work is ended")
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
}

func TestDeadlineOfAWaitingRequest(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	c := openClient(t, s, bus.ClientConfig{})
	g := busyWorker(t, s, c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	res := c.Handle(ctx, request(t, 1, "echo"), noNotifications(t))
	assert.Equal(t, mcp.CodeDeadlineExceeded, res.Code)
	assert.False(t, *decode(t, res.Body).Error.Data.Started)
	assert.Zero(t, c.Queued(address.Pool))
	close(g.leave)
}

// TestWorkerKeepsTheDeadline is without an ingress that would cancel.
func TestWorkerKeepsTheDeadline(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 1, g.handle)
	raw := newRawIngress(t, s, w)
	raw.send(t, "1", toolCall(1, "echo"), time.Minute, 50*time.Millisecond)
	require.ErrorIs(t, receive(t, g.ended), context.DeadlineExceeded)
}

func TestClientGone(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 1, g.handle)
	c := openClient(t, s, bus.ClientConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	response := handleUntil(ctx, t, c, request(t, 1, "echo"))
	receive(t, g.entered)
	cancel()
	require.ErrorIs(t, receive(t, g.ended), context.Canceled)
	receive(t, response)
	assert.Zero(t, c.Kept())
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
}

// TestClientOfOneCallGone holds that the others go on.
func TestClientOfOneCallGone(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	startWorker(t, s, 2, g.handle)
	c := openClient(t, s, bus.ClientConfig{})
	stays := handle(t, c, request(t, 1, "echo"))
	receive(t, g.entered)
	ctx, cancel := context.WithCancel(t.Context())
	handleUntil(ctx, t, c, request(t, 2, "echo"))
	receive(t, g.entered)
	cancel()
	require.Error(t, receive(t, g.ended))
	close(g.leave)
	assert.Zero(t, receive(t, stays).Code)
	assert.Empty(t, g.ended)
}

func TestCancelThatOvertakesItsRequest(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, stop := startWorker(t, s, 1, g.handle)
	raw := newRawIngress(t, s, w)
	raw.control(t, "cancel RAW.6 RAW.7")
	require.Eventually(t, func() bool { return w.Tombstones() == 2 }, bustest.Patience, time.Millisecond)
	for _, attempt := range []string{"6", "7"} {
		raw.send(t, attempt, toolCall(1, "echo"), time.Minute, time.Minute)
		got, frame, _ := raw.next(t)
		assert.Equal(t, attempt, got)
		assert.Equal(t, "x-1-1", frame)
	}
	require.NoError(t, stop())
	assert.Empty(t, g.entered)
}

func TestRequestPastItsStartBy(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, stop := startWorker(t, s, 1, g.handle)
	raw := newRawIngress(t, s, w)
	raw.send(t, "1", toolCall(1, "echo"), -time.Millisecond, time.Minute)
	_, frame, body := raw.next(t)
	assert.Equal(t, "x-1-1", frame)
	assert.Empty(t, body)
	require.NoError(t, stop())
	assert.Empty(t, g.entered)
}

func TestStuckHandlerKeepsItsSlotAndIsReported(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	defer close(g.leave)
	log, records := recordLog(t)
	conn := bustest.Connect(t, s)
	w, err := bus.NewConsumer(conn, mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if name, _ := req.Target(); name == "stuck" {
			return g.stubborn(ctx, req, notify)
		}
		return result(ctx, req, notify)
	}), bus.ConsumerConfig{Address: address, Slots: 2, Version: "1.2.3"}, log)
	require.NoError(t, err)
	run(t, w)
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	ctx, cancel := context.WithCancel(t.Context())
	response := handleUntil(ctx, t, c, request(t, 1, "stuck"))
	receive(t, g.entered)
	cancel()
	receive(t, response)

	records.waitFor(t, "handler ignores the end of its context and keeps its slot")
	var stats struct{ StuckHandlers, Slots, FreeSlots int }
	discover(t, rawConn(t, s), "$SRV.STATS."+"mcpyard-test-default."+w.ID(), &stats)
	assert.Equal(t, 1, stats.StuckHandlers)
	assert.Equal(t, 1, stats.FreeSlots)
	for i := range 20 {
		assert.Zero(t, c.Handle(t.Context(), request(t, i, "quick"), noNotifications(t)).Code)
	}
	assert.Equal(t, 1, records.count("handler ignores the end of its context and keeps its slot"))
	assert.NotContains(t, strings.Join(records.all(), " "), "hello", "arguments are not logged")
}
