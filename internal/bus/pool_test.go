package bus

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// busyPool has one worker with that many slots, all of them taken, whose calls
// take service.
func busyPool(slots int, service time.Duration) (*pool, *member) {
	p := &pool{queue: fairQueue{maxRequests: 10, maxBytes: 1000}, service: service}
	p.heard("w", up(slots, slots, time.Now()))
	m := p.roster.find("w")
	for range slots {
		p.roster.take(m)
	}
	return p, m
}

func enqueue(p *pool, within time.Duration) (*waiter, *jsonrpc.Error) {
	w := &waiter{}
	_, refusal := p.enqueue(w, time.Now().Add(within), false)
	return w, refusal
}

func TestPoolRefusesAWaitBeyondTheDeadline(t *testing.T) {
	p, _ := busyPool(2, time.Minute)
	_, refusal := enqueue(p, 39*time.Second)
	require.NotNil(t, refusal)
	assert.Equal(t, mcp.CodeOverloaded, refusal.Code)
	assert.Equal(t, mcp.RetryData{Retryable: true, RetryAfterMs: 30_000}, refusal.Data)
	assert.Zero(t, p.queue.len())

	_, refusal = enqueue(p, 41*time.Second)
	assert.Nil(t, refusal, "one call of each slot fits in, even if it takes a third longer")
	_, refusal = enqueue(p, 41*time.Second)
	assert.NotNil(t, refusal, "two do not")
}

func TestPoolKnowsNoWaitWithoutWorkers(t *testing.T) {
	p := &pool{queue: fairQueue{maxRequests: 10, maxBytes: 1000}, service: time.Minute}
	_, refusal := enqueue(p, time.Second)
	assert.Nil(t, refusal)
}

func TestPoolRetryAfterIsBounded(t *testing.T) {
	p, _ := busyPool(1, time.Nanosecond)
	assert.Equal(t, 100*time.Millisecond, p.retryAfter("", time.Now()))
	p.service = time.Hour
	assert.Equal(t, maxRetryAfter, p.retryAfter("", time.Now()))
}

func TestPoolServesWhenASlotIsFree(t *testing.T) {
	for name, free := range map[string]func(*pool, *member){
		"released": func(p *pool, m *member) { p.release(m) },
		"answered": func(p *pool, m *member) { p.answered(m, frame{kind: frameResult, free: 1}, time.Millisecond) },
		"advert":   func(p *pool, _ *member) { p.heard("w", up(3, 1, time.Now())) },
		"arrival":  func(p *pool, _ *member) { p.heard("another", up(1, 1, time.Now())) },
	} {
		t.Run(name, func(t *testing.T) {
			p, m := busyPool(2, 0)
			first, _ := enqueue(p, time.Hour)
			second, _ := enqueue(p, time.Hour)
			free(p, m)
			require.Len(t, first.outcome, 1)
			assert.Empty(t, second.outcome, "one slot, one request")
			assert.Equal(t, 1, p.queue.len())
		})
	}
}

func TestPoolDoesNotServeFromAWorkerThatIsFull(t *testing.T) {
	p, m := busyPool(2, 0)
	w, _ := enqueue(p, time.Hour)
	p.answered(m, frame{kind: frameBusy, free: 0}, 0)
	assert.Empty(t, w.outcome, "others have taken the slot")
	p.heard("w", up(2, 1, time.Now()))
	assert.Len(t, w.outcome, 1)
}

func TestPoolWithdrawGivesBackAGrant(t *testing.T) {
	p, m := busyPool(1, 0)
	waiting, _ := enqueue(p, time.Hour)
	next, _ := enqueue(p, time.Hour)
	p.release(m)
	require.Len(t, waiting.outcome, 1)
	p.withdraw(waiting) // as its client went at the same moment
	assert.Len(t, next.outcome, 1)
	assert.Equal(t, 1, m.sent)
	p.withdraw(next)
	assert.Zero(t, m.sent)
	assert.Zero(t, p.queue.len())
}

func TestPoolAcquireEndsWithItsContext(t *testing.T) {
	p, _ := busyPool(1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, refusal := p.acquire(ctx, time.Now().Add(time.Hour), &waiter{}, false)
	assert.Nil(t, m)
	require.NotNil(t, refusal)
	assert.Equal(t, map[string]any{"started": false}, refusal.Data)
	assert.Zero(t, p.queue.len())
}

func TestPoolOfVanishedWorkersIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{pools: map[string]*pool{}}
		p := c.enter("p")
		p.heard("w", up(1, 1, time.Now()))
		c.leave(p)
		<-time.After(forgottenAfter)
		c.leave(c.enter("p"))
		assert.Len(t, c.pools, 1)
		<-time.After(1)
		c.leave(c.enter("p"))
		assert.Empty(t, c.pools)
	})
}

func TestPoolTurnedDownGoesFirst(t *testing.T) {
	p, m := busyPool(1, time.Hour)
	waiting := &waiter{principal: "a"}
	_, refusal := p.enqueue(waiting, time.Now().Add(24*time.Hour), false)
	require.Nil(t, refusal)
	again := &waiter{principal: "b"}
	_, refusal = p.enqueue(again, time.Now(), true)
	require.Nil(t, refusal, "whatever the expected wait")
	p.release(m)
	assert.Len(t, again.outcome, 1)
	assert.Empty(t, waiting.outcome)
}

// TestFloodWaitsByItself holds that the length of one principal's line tells
// others nothing of their own wait.
func TestFloodWaitsByItself(t *testing.T) {
	p, _ := busyPool(1, 0)
	p.service = time.Second
	now := time.Now()
	until := now.Add(10 * time.Second)
	for range 10 {
		_, refusal := p.enqueue(&waiter{principal: "flood"}, until.Add(time.Hour), false)
		require.Nil(t, refusal)
	}
	_, refusal := p.enqueue(&waiter{principal: "flood"}, until, false)
	require.NotNil(t, refusal)
	assert.Equal(t, mcp.CodeOverloaded, refusal.Code)
	_, refusal = p.enqueue(&waiter{principal: "other"}, until, false)
	assert.Nil(t, refusal)
	assert.Equal(t, 2*time.Second*2, p.expectedWait("other", now), "its second one has four before it")
	assert.Equal(t, 11*time.Second, p.expectedWait("flood", now), "one of its own had to go")
}

func TestFlow(t *testing.T) {
	var f flow
	f.serve(noon)
	_, ok := f.interval(noon.Add(time.Hour))
	assert.False(t, ok, "nobody waits")
	f.wait(true, noon)
	for i := range 20 {
		f.wait(true, noon.Add(time.Duration(i)*100*time.Millisecond))
		f.serve(noon.Add(time.Duration(i+1) * 100 * time.Millisecond))
	}
	_, ok = f.interval(noon.Add(flowLeast - 1))
	assert.False(t, ok)
	each, ok := f.interval(noon.Add(2 * time.Second))
	assert.True(t, ok)
	assert.Equal(t, 100*time.Millisecond, each)

	for i := range 100 { // it becomes ten times as fast
		f.serve(noon.Add(2*time.Second + time.Duration(i)*10*time.Millisecond))
	}
	for i := range 1000 {
		f.serve(noon.Add(3*time.Second + time.Duration(i)*10*time.Millisecond))
	}
	each, ok = f.interval(noon.Add(13 * time.Second))
	assert.True(t, ok)
	assert.InDelta(t, 10*time.Millisecond, each, float64(time.Millisecond))
	f.wait(false, noon)
	_, ok = f.interval(noon.Add(time.Hour))
	assert.False(t, ok)
}
