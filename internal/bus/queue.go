package bus

import "container/list"

// A fairQueue holds the requests of one pool that wait for a free slot. It is
// first in, first out for each principal, and takes turns between principals,
// so that one that floods it delays itself. It is not safe for concurrent use.
type fairQueue struct {
	maxRequests int
	maxBytes    int

	requests int
	bytes    int
	lines    map[string]*line // by principal; none is empty
	turns    list.List        // of *line: the next to be served is at the front
}

// A line is what waits for one principal.
type line struct {
	principal string
	waiters   list.List // of *waiter
	turn      *list.Element
}

// A waiter is one request in the queue.
type waiter struct {
	principal string
	bytes     int
	place     *list.Element // nil when it is not in the queue
	line      *line
	outcome   chan grant // capacity 1: a slot, or none because it was shed
}

func (q *fairQueue) len() int { return q.requests }

// ahead is how many requests at most are served before the next one that principal
// puts in is: one of every principal for each of its own.
func (q *fairQueue) ahead(principal string) int {
	principals := len(q.lines)
	own := q.lineLen(principal)
	if own == 0 {
		principals++
	}
	return min(q.requests+1, (own+1)*principals)
}

// push puts w at the end of its principal's line. When the queue is full in
// requests, the last one of the longest line has to go, which may be w itself; when
// w does not fit in bytes, it is w that has to go. ok is then false. A shed waiter
// is told by the caller.
func (q *fairQueue) push(w *waiter) (shed *waiter, ok bool) {
	if q.bytes+w.bytes > q.maxBytes {
		return nil, false
	}
	if q.requests >= q.maxRequests {
		longest := q.longest()
		if longest == nil || longest.waiters.Len() <= q.lineLen(w.principal)+1 {
			return nil, false
		}
		shed = longest.waiters.Back().Value.(*waiter)
		q.remove(shed)
	}
	l := q.join(w)
	w.place = l.waiters.PushBack(w)
	return shed, true
}

// pushFront puts w back in front, where it was before, whatever the bounds.
func (q *fairQueue) pushFront(w *waiter) {
	l := q.join(w)
	w.place = l.waiters.PushFront(w)
	q.turns.MoveToFront(l.turn)
}

// pop takes the next request; nil when none waits.
func (q *fairQueue) pop() *waiter {
	front := q.turns.Front()
	if front == nil {
		return nil
	}
	l := front.Value.(*line)
	q.turns.MoveToBack(front)
	w := l.waiters.Front().Value.(*waiter)
	q.remove(w)
	return w
}

// remove takes w out; it is no fault if w has left already.
func (q *fairQueue) remove(w *waiter) (was bool) {
	if w.place == nil {
		return false
	}
	l := w.line
	l.waiters.Remove(w.place)
	w.place, w.line = nil, nil
	q.requests--
	q.bytes -= w.bytes
	if l.waiters.Len() == 0 {
		q.turns.Remove(l.turn)
		delete(q.lines, l.principal)
	}
	return true
}

// join counts w in and returns its principal's line, which may be a new one with
// the last turn.
func (q *fairQueue) join(w *waiter) *line {
	l := q.lines[w.principal]
	if l == nil {
		l = &line{principal: w.principal}
		l.turn = q.turns.PushBack(l)
		if q.lines == nil {
			q.lines = make(map[string]*line)
		}
		q.lines[w.principal] = l
	}
	w.line = l
	q.requests++
	q.bytes += w.bytes
	return l
}

func (q *fairQueue) lineLen(principal string) int {
	if l := q.lines[principal]; l != nil {
		return l.waiters.Len()
	}
	return 0
}

func (q *fairQueue) longest() *line {
	var longest *line
	for e := q.turns.Front(); e != nil; e = e.Next() {
		if l := e.Value.(*line); longest == nil || l.waiters.Len() > longest.waiters.Len() {
			longest = l
		}
	}
	return longest
}
