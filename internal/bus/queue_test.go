package bus

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newQueue(requests, bytes int) *fairQueue {
	return &fairQueue{maxRequests: requests, maxBytes: bytes}
}

// mustPush pushes requests of the principals and returns them.
func mustPush(t *testing.T, q *fairQueue, principals ...string) (waiters []*waiter) {
	t.Helper()
	for _, p := range principals {
		w := &waiter{principal: p, bytes: 1}
		shed, ok := q.push(w)
		require.True(t, ok)
		require.Nil(t, shed)
		waiters = append(waiters, w)
	}
	return waiters
}

func popAll(q *fairQueue) (popped []*waiter) {
	for w := q.pop(); w != nil; w = q.pop() {
		popped = append(popped, w)
	}
	return popped
}

func TestQueueTakesTurns(t *testing.T) {
	q := newQueue(10, 100)
	w := mustPush(t, q, "a", "a", "a", "b", "c", "b")
	assert.Equal(t, 6, q.len())
	assert.Equal(t, []*waiter{w[0], w[3], w[4], w[1], w[5], w[2]}, popAll(q))
	assert.Empty(t, q.lines)
	assert.Zero(t, q.turns.Len())
	assert.Zero(t, q.bytes)
}

func TestQueueTurnsSurviveArrivals(t *testing.T) {
	q := newQueue(10, 100)
	w := mustPush(t, q, "a", "a")
	assert.Same(t, w[0], q.pop())
	w = append(w, mustPush(t, q, "b", "b")...)
	assert.Same(t, w[1], q.pop(), "a waited before b came")
	assert.Same(t, w[2], q.pop())
	w = append(w, mustPush(t, q, "a")...)
	assert.Same(t, w[3], q.pop(), "who comes back queues up behind the rest")
	assert.Same(t, w[4], q.pop())
}

func TestQueuePushFront(t *testing.T) {
	q := newQueue(3, 3)
	w := mustPush(t, q, "a", "b", "a")
	first := q.pop()
	require.Same(t, w[0], first)
	mustPush(t, q, "c")
	q.pushFront(first)
	assert.Equal(t, 4, q.len(), "whatever the bounds")
	assert.Same(t, first, q.pop())
	assert.Same(t, w[1], q.pop())
}

func TestQueueShedsFromTheLongestLine(t *testing.T) {
	q := newQueue(4, 100)
	w := mustPush(t, q, "flood", "flood", "flood", "flood")

	_, ok := q.push(&waiter{principal: "flood"})
	assert.False(t, ok, "the longest line's own last request has to go")

	quiet := &waiter{principal: "quiet"}
	shed, ok := q.push(quiet)
	assert.True(t, ok)
	assert.Same(t, w[3], shed)
	assert.Equal(t, 4, q.len())

	shed, ok = q.push(&waiter{principal: "quiet"})
	assert.True(t, ok)
	assert.Same(t, w[2], shed)

	_, ok = q.push(&waiter{principal: "quiet"})
	assert.False(t, ok, "two and two: nobody has more than its share")
	_, ok = q.push(&waiter{principal: "third"})
	assert.True(t, ok)
	assert.Equal(t, 4, q.len())
}

func TestQueueBoundsBytes(t *testing.T) {
	q := newQueue(10, 100)
	big := &waiter{principal: "a", bytes: 99}
	_, ok := q.push(big)
	require.True(t, ok)
	_, ok = q.push(&waiter{principal: "b", bytes: 2})
	assert.False(t, ok)
	_, ok = q.push(&waiter{principal: "b", bytes: 1})
	assert.True(t, ok)
	assert.True(t, q.remove(big))
	assert.Equal(t, 1, q.bytes)
	_, ok = q.push(&waiter{principal: "c", bytes: 101})
	assert.False(t, ok, "larger than all there is")
}

func TestQueueRemove(t *testing.T) {
	q := newQueue(10, 100)
	w := mustPush(t, q, "a", "a", "b")
	assert.True(t, q.remove(w[0]))
	assert.False(t, q.remove(w[0]), "it has left already")
	assert.Equal(t, []*waiter{w[1], w[2]}, popAll(q))
	assert.False(t, q.remove(w[1]))
	assert.Nil(t, q.pop())
}

// A slowQueue is what a fairQueue should do, said as plainly as can be.
type slowQueue struct {
	maxRequests, maxBytes int
	turns                 []string             // principals in the order of their turns
	lines                 map[string][]*waiter // none is empty
}

func (q *slowQueue) size() (requests, bytes int) {
	for _, line := range q.lines {
		for _, w := range line {
			requests, bytes = requests+1, bytes+w.bytes
		}
	}
	return requests, bytes
}

func (q *slowQueue) set(principal string, line []*waiter) {
	switch {
	case len(line) == 0:
		delete(q.lines, principal)
		q.turns = slices.DeleteFunc(q.turns, func(p string) bool { return p == principal })
		return
	case q.lines[principal] == nil:
		q.turns = append(q.turns, principal)
	}
	q.lines[principal] = line
}

func (q *slowQueue) push(w *waiter) (shed *waiter, ok bool) {
	requests, bytes := q.size()
	if bytes+w.bytes > q.maxBytes {
		return nil, false
	}
	if requests >= q.maxRequests {
		longest := ""
		for _, p := range q.turns {
			if len(q.lines[p]) > len(q.lines[longest]) {
				longest = p
			}
		}
		line := q.lines[longest]
		if len(line) <= len(q.lines[w.principal])+1 {
			return nil, false
		}
		shed = line[len(line)-1]
		q.set(longest, line[:len(line)-1])
	}
	q.set(w.principal, append(slices.Clone(q.lines[w.principal]), w))
	return shed, true
}

func (q *slowQueue) pushFront(w *waiter) {
	q.set(w.principal, append([]*waiter{w}, q.lines[w.principal]...))
	q.turns = slices.DeleteFunc(q.turns, func(p string) bool { return p == w.principal })
	q.turns = append([]string{w.principal}, q.turns...)
}

func (q *slowQueue) pop() *waiter {
	if len(q.turns) == 0 {
		return nil
	}
	p := q.turns[0]
	q.turns = append(slices.Clone(q.turns[1:]), p)
	w := q.lines[p][0]
	q.set(p, q.lines[p][1:])
	return w
}

func (q *slowQueue) remove(w *waiter) bool {
	i := slices.Index(q.lines[w.principal], w)
	if i < 0 {
		return false
	}
	q.set(w.principal, slices.Delete(slices.Clone(q.lines[w.principal]), i, i+1))
	return true
}

// FuzzQueue does the same to a fairQueue and its model. Of each byte, two bits
// say what to do and the others with whom.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 0, 0, 4, 4, 8, 1, 1, 1, 1, 1, 1})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 4, 4, 4, 8, 2, 6, 1, 3, 7, 1})
	f.Add([]byte{0, 4, 8, 12, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 16, 20})
	f.Fuzz(func(t *testing.T, ops []byte) {
		got := newQueue(6, 20)
		want := &slowQueue{maxRequests: 6, maxBytes: 20, lines: map[string][]*waiter{}}
		var all, popped []*waiter
		for _, op := range ops {
			who := int(op >> 2)
			switch op & 3 {
			case 0:
				w := &waiter{principal: string(rune('a' + who%4)), bytes: who % 7}
				all = append(all, w)
				wantShed, wantOK := want.push(w)
				shed, ok := got.push(w)
				require.Equal(t, wantOK, ok)
				require.Same(t, wantShed, shed)
			case 1:
				w := want.pop()
				require.Same(t, w, got.pop())
				if w != nil {
					popped = append(popped, w)
				}
			case 2:
				if len(all) > 0 {
					w := all[who%len(all)]
					require.Equal(t, want.remove(w), got.remove(w))
				}
			case 3:
				if len(popped) > 0 {
					w := popped[len(popped)-1]
					popped = popped[:len(popped)-1]
					want.pushFront(w)
					got.pushFront(w)
				}
			}
			requests, bytes := want.size()
			require.Equal(t, requests, got.len())
			require.Equal(t, bytes, got.bytes)
			require.Len(t, got.lines, len(want.lines))
		}
	})
}
