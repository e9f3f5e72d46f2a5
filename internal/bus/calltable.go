package bus

import (
	"strings"
	"sync"
	"time"
)

const (
	// tombstoneFor is how long a cancel waits for the request that it overtook.
	tombstoneFor = 30 * time.Second
	// maxTombstones bounds them; the oldest give way.
	maxTombstones = 8192
)

// A callTable has the calls that a worker is running, and remembers cancels
// that came before their requests. The zero table is empty and ready; it is safe
// for concurrent use.
type callTable struct {
	mu         sync.Mutex // guards what follows, and call.cancelled and call.reported
	running    map[*call]struct{}
	byKey      map[string]*call
	tombstones map[string]time.Time
	order      []string      // keys of the tombstones, oldest first
	closed     chan struct{} // not nil: nothing may start; closed when nothing runs
}

// started is what add returns for a call that may run.
const started frameKind = 0

// add starts a call, or says why it may not: it has been cancelled already, or
// the table is closed.
func (t *callTable) add(c *call) (refused frameKind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return frameDrain
	}
	if _, dead := t.tombstones[c.key]; dead && c.direct {
		return frameRefused
	}
	if t.running == nil {
		t.running, t.byKey = make(map[*call]struct{}), make(map[string]*call)
	}
	t.running[c] = struct{}{}
	if c.direct {
		t.byKey[c.key] = c
	}
	return started
}

// remove ends a call.
func (t *callTable) remove(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, c)
	if t.byKey[c.key] == c {
		delete(t.byKey, c.key)
	}
	if t.closed != nil && len(t.running) == 0 {
		close(t.closed)
	}
}

// cancel ends the context of a call, now or, within tombstoneFor, when it comes.
// No call has a key that is longer than a reply subject.
func (t *callTable) cancel(key string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.byKey[key]; c != nil {
		c.cancelled = now
		c.cancel()
		return
	}
	if len(key) <= maxReply {
		t.bury(strings.Clone(key), now) // a part of a message that may be large
	}
}

func (t *callTable) bury(key string, now time.Time) {
	if t.tombstones == nil {
		t.tombstones = make(map[string]time.Time)
	}
	if _, again := t.tombstones[key]; again {
		return // order is by age
	}
	t.order = append(t.order, key)
	t.tombstones[key] = now
	t.expire(now)
}

// forget drops cancels whose requests have not come within tombstoneFor.
func (t *callTable) forget(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
}

func (t *callTable) expire(now time.Time) {
	for len(t.order) > maxTombstones || len(t.order) > 0 && now.Sub(t.tombstones[t.order[0]]) > tombstoneFor {
		delete(t.tombstones, t.order[0])
		t.order = t.order[1:]
	}
}

// close lets nothing more start. The channel it returns is closed as soon as
// nothing runs. It is called once.
func (t *callTable) close() (idle <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = make(chan struct{})
	if len(t.running) == 0 {
		close(t.closed)
	}
	return t.closed
}

// isClosed tells whether close has been called.
func (t *callTable) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed != nil
}

// all returns the calls that are running.
func (t *callTable) all() []*call {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := make([]*call, 0, len(t.running))
	for c := range t.running {
		calls = append(calls, c)
	}
	return calls
}

// stuck returns calls whose context ended before t0, each once.
func (t *callTable) stuck(t0 time.Time) (calls []*call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.running {
		ended := c.deadline.Before(t0) || !c.cancelled.IsZero() && c.cancelled.Before(t0)
		if ended && !c.reported {
			c.reported = true
			calls = append(calls, c)
		}
	}
	return calls
}
