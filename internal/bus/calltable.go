package bus

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// rememberFor is how long a worker knows what became of an attempt: its
	// result, or that it must not start any more.
	rememberFor = 30 * time.Second
	// maxPast bounds how many of them it remembers, and maxKept the bytes of
	// their results; the oldest give way.
	maxPast = 16 << 10
	maxKept = 64 << 20
	// forgetMargin is how wrong an ingress may be about a worker's clock.
	forgetMargin = 250 * time.Millisecond
	// largeAgain is how long a large result may be on its way before it is sent
	// again, and then twice as long: more of the same would only delay it.
	largeAgain = time.Second
)

// A callTable has the calls that a worker runs, and remembers for a while what
// became of others: results, which may not have reached their ingress, and keys
// of requests that must not start when they come. The zero table is empty and
// ready; it is safe for concurrent use.
type callTable struct {
	mu        sync.Mutex // guards what follows, and call.cancelled and call.reported
	running   map[*call]struct{}
	attempts  map[attemptKey]*record // running or past; requests through the queue door have none
	past      []*record              // those that do not run, oldest first
	kept      int                    // bytes of the results in past
	forgotten time.Time              // when the latest of those ended of which nothing is known any more
	closed    chan struct{}          // not nil: nothing may start; closed when nothing runs
}

// An attemptKey names an attempt for the time of both incarnations.
type attemptKey struct {
	ingress string
	attempt uint64
}

// String is the key as in a cancel.
func (k attemptKey) String() string {
	return k.ingress + "." + strconv.FormatUint(k.attempt, attemptBase)
}

func parseAttemptKey(word string) (k attemptKey, ok bool) {
	ingress, number, ok := strings.Cut(word, ".")
	attempt, err := strconv.ParseUint(number, attemptBase, 64)
	return attemptKey{ingress: ingress, attempt: attempt}, ok && err == nil
}

// A record is what a worker knows of an attempt.
type record struct {
	key    attemptKey
	call   *call     // while it runs
	ended  time.Time // since when it does not, or will not
	result sentReply // empty if it was never started
	again  time.Time // a large result is not sent once more before that
}

// onItsWay tells whether a large result need not be sent again yet. Otherwise it
// is taken to be sent now.
func (r *record) onItsWay(now time.Time) bool {
	if len(r.result.body) <= bulkFrom {
		return false
	}
	if r.again.IsZero() {
		r.again = r.ended.Add(largeAgain)
	}
	if now.Before(r.again) {
		return true
	}
	r.again = now.Add(now.Sub(r.ended))
	return false
}

func (r *record) started() bool { return r.call != nil || r.result.subject != "" }

// A sentReply is a reply that can be sent again.
type sentReply struct {
	subject string
	body    []byte
	claim   string // to the body, if that is in the store
	attempt uint64 // 0 at the queue door, where there is no frame
	frame   frame
}

// A verdict says what is to be done with a request that has come.
type verdict int

const (
	mayStart verdict = iota
	ifDraining
	ifCancelled // it must not start
	ifSeen      // it has come before: whoever sent it gets the first one's replies
)

// add starts a call, or says why it may not.
func (t *callTable) add(c *call) verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return ifDraining
	}
	if known := t.attempts[c.key]; known != nil && c.direct {
		if known.started() {
			return ifSeen
		}
		return ifCancelled
	}
	if t.running == nil {
		t.running = make(map[*call]struct{})
	}
	t.running[c] = struct{}{}
	if c.direct {
		t.record(&record{key: c.key, call: c})
	}
	return mayStart
}

// remove ends a call and keeps its result.
func (t *callTable) remove(c *call, result sentReply, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, c)
	if r := t.attempts[c.key]; r != nil && r.call == c {
		r.call, r.ended, r.result = nil, now, result
		t.remember(r)
	}
	if t.closed != nil && len(t.running) == 0 {
		close(t.closed)
	}
}

// cancel ends the context of a call, now or, within rememberFor, when it comes.
func (t *callTable) cancel(key attemptKey, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r := t.attempts[key]; {
	case r == nil:
		t.bury(key, now)
	case r.call != nil:
		r.call.cancelled = now
		r.call.cancel()
	}
}

// A fate is what a worker can say of an attempt.
type fate int

const (
	fateRuns fate = iota // or its result is on its way
	fateEnded
	fateUnknown   // it has not come, and will not be started when it does
	fateForgotten // it may have run
)

// fateOf tells what became of an attempt that was sent at the given time, and its
// result if it has one. What has not come yet will not be started from now on.
func (t *callTable) fateOf(key attemptKey, sent, now time.Time) (fate, sentReply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.attempts[key]
	switch {
	case r == nil && !sent.After(t.forgotten.Add(forgetMargin)):
		return fateForgotten, sentReply{}
	case r == nil:
		t.bury(key, now)
	case r.call != nil, r.onItsWay(now):
		return fateRuns, sentReply{}
	case r.started():
		return fateEnded, r.result
	}
	return fateUnknown, sentReply{}
}

// bury remembers that an attempt must not start.
func (t *callTable) bury(key attemptKey, now time.Time) {
	if len(key.ingress) > maxReply {
		return // no call has such a key
	}
	key.ingress = strings.Clone(key.ingress) // a part of a message that may be large
	r := &record{key: key, ended: now}
	t.record(r)
	t.remember(r)
}

func (t *callTable) record(r *record) {
	if t.attempts == nil {
		t.attempts = make(map[attemptKey]*record)
	}
	t.attempts[r.key] = r
}

func (t *callTable) remember(r *record) {
	t.past = append(t.past, r)
	t.kept += len(r.result.body)
	t.expire(r.ended)
}

// forget drops what is older than rememberFor.
func (t *callTable) forget(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
}

func (t *callTable) expire(now time.Time) {
	for len(t.past) > maxPast || t.kept > maxKept || len(t.past) > 0 && now.Sub(t.past[0].ended) > rememberFor {
		r := t.past[0]
		t.past[0] = nil
		t.past = t.past[1:]
		t.kept -= len(r.result.body)
		delete(t.attempts, r.key)
		if r.started() {
			t.forgotten = r.ended
		}
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
	return slices.Collect(maps.Keys(t.running))
}

// stuck returns calls whose context ended before t0, each once.
func (t *callTable) stuck(t0 time.Time) (stuck []*call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.running {
		ended := c.deadline.Before(t0) || !c.cancelled.IsZero() && c.cancelled.Before(t0)
		if ended && !c.reported {
			c.reported = true
			stuck = append(stuck, c)
		}
	}
	return stuck
}
