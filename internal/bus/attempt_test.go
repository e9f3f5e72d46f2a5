package bus

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func notification(number int) reply {
	return reply{frame: frame{kind: frameNotification, number: number}, body: []byte(strconv.Itoa(number))}
}

func resultReply(number int) reply {
	return reply{frame: frame{kind: frameResult, number: number}, body: []byte("result")}
}

// numbers takes what is ready and returns the replies' numbers.
func numbers(a *attempt) (taken []int) {
	ready, _ := a.take()
	for _, r := range ready {
		taken = append(taken, r.number)
	}
	return taken
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func TestAttemptOrder(t *testing.T) {
	for name, arrivals := range map[string][]int{
		"in order":      {1, 2, 3, 4, 5},
		"backwards":     {5, 4, 3, 2, 1},
		"repeated":      {1, 1, 3, 3, 2, 2, 1, 5, 4, 5, 4},
		"last one late": {2, 3, 4, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(1, nil, nil, time.Time{})
			for _, n := range arrivals {
				a.push(notification(n))
			}
			assert.Equal(t, upTo(5), numbers(a))
			_, gap := a.take()
			assert.False(t, gap)
		})
	}
}

func TestAttemptShuffled(t *testing.T) {
	a := newAttempt(1, nil, nil, time.Time{})
	var taken []int
	for _, i := range rand.Perm(500) {
		a.push(notification(i + 1))
		taken = append(taken, numbers(a)...)
	}
	assert.Equal(t, upTo(500), taken)
}

func TestAttemptHoldsBackAndSkips(t *testing.T) {
	a := newAttempt(1, nil, nil, time.Time{})
	a.push(notification(1))
	a.push(resultReply(5))
	a.push(notification(3))
	ready, gap := a.take()
	assert.Len(t, ready, 1)
	assert.True(t, gap)

	a.skipGap()
	assert.Equal(t, []int{3, 5}, numbers(a))
	a.push(notification(2))
	a.push(notification(4))
	ready, gap = a.take()
	assert.Empty(t, ready, "too late")
	assert.False(t, gap)
}

// What was taken stays as it is while more replies come.
func TestAttemptKeepsNothingOfWhatWasTaken(t *testing.T) {
	a := newAttempt(1, nil, nil, time.Time{})
	a.push(notification(1))
	ready, _ := a.take()
	a.push(notification(2))
	assert.Equal(t, 1, ready[0].number)
	assert.Equal(t, []int{2}, numbers(a))
}

func TestAttemptWakes(t *testing.T) {
	a := newAttempt(1, nil, nil, time.Time{})
	assert.Empty(t, a.wake)
	a.push(notification(2))
	assert.Len(t, a.wake, 1, "what came early starts the wait for what is missing")
	a.push(notification(1)) // does not block on the one that was not read
	<-a.wake
	assert.Equal(t, []int{1, 2}, numbers(a))
}

func TestAttemptDropsNotificationsButNoResult(t *testing.T) {
	const sent = maxBacklog + 100
	for name, first := range map[string]int{"in order": 1, "early": 2} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(1, nil, nil, time.Time{})
			for n := first; n <= sent; n++ {
				a.push(notification(n))
			}
			a.push(resultReply(sent + 1))
			a.skipGap()
			ready, _ := a.take()
			require.Len(t, ready, maxBacklog+1)
			assert.Equal(t, first, ready[0].number)
			assert.Equal(t, first+maxBacklog-1, ready[maxBacklog-1].number)
			assert.Equal(t, frameResult, ready[maxBacklog].kind)
			assert.Equal(t, sent-first+1-maxBacklog, a.dropped)
		})
	}
}

// await runs trial.await on an attempt of a worker with one slot.
func await(t *testing.T) (a *attempt, notified *[]string, done <-chan *mcp.Response) {
	t.Helper()
	p := &pool{}
	p.heard("w", up(1, 1, time.Now()))
	m := p.roster.find("w")
	p.roster.take(m)
	a = newAttempt(1, nil, m, time.Time{})
	notified = new([]string)
	tr := &trial{client: &Client{log: discard()}, pool: p, notify: func(n []byte) { *notified = append(*notified, string(n)) }}
	responses := make(chan *mcp.Response, 1)
	go func() { responses <- tr.await(t.Context(), a) }()
	return a, notified, responses
}

func TestAwaitGivesUpOnMissingReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, notified, done := await(t)
		began := time.Now()
		a.push(notification(1))
		a.push(notification(3))
		a.push(resultReply(4))
		res := <-done
		require.NotNil(t, res)
		assert.Equal(t, "result", string(res.Body))
		assert.Equal(t, []string{"1", "3"}, *notified)
		assert.Equal(t, gapPatience, time.Since(began))
	})
}

func TestAwaitPatienceIsPerGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, notified, done := await(t)
		a.push(notification(2))
		<-time.After(gapPatience - time.Millisecond)
		a.push(notification(1)) // in time
		synctest.Wait()
		began := time.Now()
		a.push(notification(4))
		<-time.After(gapPatience - time.Millisecond)
		a.push(notification(3)) // in time again
		a.push(resultReply(5))
		assert.NotNil(t, <-done)
		assert.Equal(t, []string{"1", "2", "3", "4"}, *notified)
		assert.Equal(t, gapPatience-time.Millisecond, time.Since(began))
	})
}

func TestAwaitNotStarted(t *testing.T) {
	for name, kind := range map[string]frameKind{
		"busy": frameBusy, "drain": frameDrain, "refused": frameRefused, "no responders": frameNoResponders,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _, done := await(t)
				a.push(reply{frame: frame{kind: kind, number: 1}})
				assert.Nil(t, <-done)
				assert.Zero(t, a.member.sent)
				assert.Equal(t, kind == frameDrain, a.member.draining)
			})
		})
	}
}
