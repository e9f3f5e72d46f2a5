package bus

import (
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// maxBacklog is how many notifications of one request are kept for a client
	// that reads slower than the tool writes; more are dropped, never a result.
	maxBacklog = 1024
	// gapPatience is how long a reply is held back for those before it.
	gapPatience = 250 * time.Millisecond
)

// A reply is a frame and its body.
type reply struct {
	frame
	body  []byte
	claim string // to the body, if that is in the store
}

// An attempt is one sending of a request to one worker. Replies are pushed by
// the subscription's goroutine and taken, in the order of their numbers, by that
// of the request.
type attempt struct {
	id     uint64
	link   link
	inbox  *inbox // for the last reply; nil if that comes to the client, as all others do
	pool   *pool
	member *member
	sent   time.Time
	until  time.Time     // nobody waits any longer
	wake   chan struct{} // capacity 1: something is ready, or early
	asked  inquiry       // belongs to Client.watch

	mu      sync.Mutex // guards what follows
	next    int        // number of the next reply in order
	ready   []reply    // in order, not yet taken
	one     [1]reply   // room for the first of them: most attempts have no other
	early   []reply    // arrived before one that is missing
	dropped int        // notifications there was no room for
	ran     bool       // it was started: a reply has told
	settled bool       // it has had its last reply, so that nothing more can come to its inbox
}

func newAttempt(id uint64, p *pool, m *member, until time.Time) *attempt {
	return &attempt{id: id, pool: p, member: m, sent: time.Now(), until: until, wake: make(chan struct{}, 1), next: 1}
}

// replyTo is the subject for the last reply.
func (a *attempt) replyTo() string {
	if a.inbox != nil {
		return a.inbox.subject
	}
	return attemptSubject(a.link.prefix, a.id)
}

// last is where the last reply comes in, if there is an inbox for it.
func (a *attempt) last() <-chan *nats.Msg {
	if a.inbox == nil {
		return nil
	}
	return a.inbox.replies
}

// push takes in a reply, and wakes the goroutine that waits for it.
func (a *attempt) push(r reply) {
	a.put(r)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// put takes in a reply. Repeated ones are dropped.
func (a *attempt) put(r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ran = a.ran || r.kind.ofRunning()
	a.settled = a.settled || r.kind.settles()
	switch {
	case !r.kind.numbered():
		a.ready = append(a.ready, r)
	case r.number == a.next:
		a.accept(r)
		a.settle()
	case r.number > a.next && r.kind == frameNotification && len(a.early) >= maxBacklog:
		a.dropped++
	case r.number > a.next:
		a.early = append(a.early, r)
	}
}

// accept puts the next reply in order with those that are ready.
func (a *attempt) accept(r reply) {
	a.next = r.number + 1
	if r.kind == frameNotification && len(a.ready) >= maxBacklog {
		a.dropped++
		return
	}
	if a.ready == nil && r.number == 1 {
		a.ready = a.one[:0] // once: who took it may still read it when more comes
	}
	a.ready = append(a.ready, r)
}

// settle moves early replies whose turn has come.
func (a *attempt) settle() {
	for {
		i := slices.IndexFunc(a.early, func(r reply) bool { return r.number <= a.next })
		if i < 0 {
			return
		}
		r := a.early[i]
		a.early = slices.Delete(a.early, i, i+1)
		if r.number == a.next {
			a.accept(r)
		}
	}
}

// take returns what is ready, and whether replies wait for one that is missing.
func (a *attempt) take() (ready []reply, gap bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ready, a.ready = a.ready, nil
	return ready, len(a.early) > 0
}

// overflow is how many notifications were dropped so far.
func (a *attempt) overflow() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dropped
}

// hasRun tells whether any of the replies that have come is one of a call that
// was started.
func (a *attempt) hasRun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ran
}

// isSettled tells whether the last reply has come, in order or not.
func (a *attempt) isSettled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.settled
}

// skipGap gives up on replies that are missing.
func (a *attempt) skipGap() {
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.SortFunc(a.early, func(x, y reply) int { return x.number - y.number })
	for _, r := range a.early {
		if r.number >= a.next {
			a.accept(r)
		}
	}
	a.early = nil
}
