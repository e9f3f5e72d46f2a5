package bus

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// noWorkersPatience is how long requests wait for a pool's first worker, or
	// for another after the last one has gone.
	noWorkersPatience = time.Second
	// outagePatience is how long requests wait for NATS to come back.
	outagePatience = 5 * time.Second
	// waitMargin is the part of the time that a request will have to wait by which
	// it may be longer: nobody should wait for long in vain.
	waitMargin = 3
	// maxRetryAfter bounds what a refused client is told to wait.
	maxRetryAfter = 30 * time.Second
)

// A pool is what an ingress knows of one pool of workers, and the requests that
// wait for it. It is safe for concurrent use.
type pool struct {
	address Address
	conn    *Conn

	mu          sync.Mutex // guards what follows
	roster      roster
	queue       fairQueue
	serves      []string // the catalogues of the roster when it last had any
	flow        flow
	service     time.Duration // moving average from sending a request to its result
	workerSince time.Time     // when the pool last had a worker, or came into being
	users       int           // requests under way; the client forgets an unused pool
}

// A grant is what a waiter gets: a worker's slot, or nothing because the queue
// had to shed it.
type grant struct{ member *member }

// acquire takes a slot, waiting in the queue when none is free. The refusal
// says why there is none: nothing was started then. again puts a request that
// a worker has turned down in front of its line.
func (p *pool) acquire(ctx context.Context, until time.Time, w *waiter, again bool) (*member, *jsonrpc.Error) {
	m, refusal := p.enqueue(w, until, again)
	if m != nil || refusal != nil {
		return m, refusal
	}
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	patience := time.NewTimer(noWorkersPatience)
	defer patience.Stop()
	for {
		select {
		case g := <-w.outcome:
			if g.member == nil {
				return nil, p.overloaded(w.principal)
			}
			return g.member, nil
		case <-ctx.Done():
			p.withdraw(w)
			return nil, mcp.DeadlineExceeded(false)
		case <-late.C:
			p.withdraw(w)
			return nil, mcp.DeadlineExceeded(false)
		case <-patience.C:
			if p.hopeless() {
				p.withdraw(w)
				return nil, p.unavailable()
			}
			patience.Reset(noWorkersPatience)
		}
	}
}

// anyone returns a worker for a request that it will most likely refuse, whether it
// has a free slot or not; nil if there is none.
func (p *pool) anyone() *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.roster.first(time.Now())
	if m != nil {
		p.roster.take(m)
	}
	return m
}

// enqueue takes a free slot at once, or puts w into the queue, or refuses it.
func (p *pool) enqueue(w *waiter, until time.Time, again bool) (*member, *jsonrpc.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.queue.len() == 0 {
		if m := p.roster.choose(now); m != nil {
			p.roster.take(m)
			return m, nil
		}
	}
	w.outcome = make(chan grant, 1)
	if again {
		p.queue.pushFront(w)
		p.flow.wait(true, now)
		return nil, nil
	}
	if wait := p.expectedWait(w.principal, now); now.Add(wait + wait/waitMargin).After(until) {
		return nil, mcp.Overloaded(p.retryAfter(w.principal, now))
	}
	shed, ok := p.queue.push(w)
	if !ok {
		return nil, mcp.Overloaded(p.retryAfter(w.principal, now))
	}
	p.flow.wait(true, now)
	if shed != nil {
		shed.outcome <- grant{}
	}
	return nil, nil
}

// withdraw ends w's waiting. It may have been granted a slot at the same time.
func (p *pool) withdraw(w *waiter) {
	p.mu.Lock()
	waiting := p.queue.remove(w)
	p.flow.wait(p.queue.len() > 0, time.Now())
	p.mu.Unlock()
	if waiting {
		return
	}
	if g := <-w.outcome; g.member != nil {
		p.release(g.member)
	}
}

// release gives back a slot of which nothing more is known.
func (p *pool) release(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roster.giveBack(m)
	p.serve(time.Now())
}

// answered gives back a slot with what the worker said of its free ones, and
// how long the call took; 0 when it was not started.
func (p *pool) answered(m *member, f frame, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roster.giveBack(m)
	m.signs.seen(time.Now())
	switch f.kind {
	case frameBusy:
		p.roster.report(m, 0) // whatever it says: it would be asked again at once
	case frameDrain:
		p.roster.drain(m)
	default:
		p.roster.report(m, f.free)
	}
	if took > 0 {
		p.service += (took - p.service) / 16
	}
	p.serve(time.Now())
}

// lost gives back a slot of a worker that NATS has no subscription of.
func (p *pool) lost(m *member) {
	p.release(m)
	p.drop(m)
}

// drop forgets a worker until it sends an advert.
func (p *pool) drop(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roster.drop(m)
}

// heard takes in an advert, and tells whether the pool serves something else than
// it last did. Nothing at all does not count: whoever asks then learns that there
// is no worker.
func (p *pool) heard(worker string, a advert) (changed bool) {
	correction, changed := p.takeIn(worker, a, time.Now())
	if correction != 0 {
		// Should it be lost, the next advert is another occasion.
		_ = p.conn.Publish(p.address.control(worker), correction.message())
	}
	return changed
}

// takeIn returns also the tempo that the worker is to be told, if it is not 0.
func (p *pool) takeIn(worker string, a advert, now time.Time) (correction tempo, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roster.update(worker, a, now)
	if p.roster.capacity(now) > 0 {
		p.workerSince = now
	}
	p.serve(now)
	if m := p.roster.find(worker); m != nil {
		correction = p.roster.correction(m, now)
	}
	serves := p.roster.catalogues()
	if len(serves) == 0 || slices.Equal(serves, p.serves) {
		return correction, false
	}
	p.serves = serves
	return correction, true
}

// serve hands free slots to those who wait.
func (p *pool) serve(now time.Time) {
	for p.queue.len() > 0 {
		m := p.roster.choose(now)
		if m == nil {
			return
		}
		p.roster.take(m)
		p.queue.pop().outcome <- grant{member: m}
		p.flow.serve(now)
		p.flow.wait(p.queue.len() > 0, now)
	}
}

// hopeless tells whether there is nobody to wait for.
func (p *pool) hopeless() bool {
	up, lasting := p.conn.Up()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now := time.Now(); {
	case !up:
		return lasting > outagePatience
	case p.roster.capacity(now) > 0:
		return false
	default:
		return now.Sub(p.workerSince) > noWorkersPatience && lasting > noWorkersPatience
	}
}

// unavailable says which part of the way to a worker is missing.
func (p *pool) unavailable() *jsonrpc.Error {
	if up, _ := p.conn.Up(); !up {
		return mcp.BusDown(noWorkersPatience)
	}
	return mcp.NoWorkers(p.address.Pool, noWorkersPatience)
}

func (p *pool) overloaded(principal string) *jsonrpc.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return mcp.Overloaded(p.retryAfter(principal, time.Now()))
}

// expectedWait is how long a request of principal will wait that is queued now:
// as long as the pool takes for those that have their turn before it. While the
// queue has not been used for long, that follows from how long a call takes.
func (p *pool) expectedWait(principal string, now time.Time) time.Duration {
	ahead := p.queue.ahead(principal)
	if each, ok := p.flow.interval(now); ok {
		return each * time.Duration(ahead)
	}
	slots := p.roster.capacity(now)
	if slots == 0 {
		return 0
	}
	ours := min(slots, max(1, p.roster.sent)) // other ingresses have the rest
	return p.service * time.Duration(ahead) / time.Duration(ours)
}

// retryAfter is when what now waits before a request of principal will have been
// served.
func (p *pool) retryAfter(principal string, now time.Time) time.Duration {
	return min(max(p.expectedWait(principal, now), 100*time.Millisecond), maxRetryAfter)
}

// A flow measures how fast requests are served while others wait: other
// ingresses use the same slots, so that their number does not tell.
type flow struct {
	since  time.Time // when requests began to wait, or later; zero if none does
	served int       // since then
}

const (
	flowLeast = time.Second     // how long it takes to tell
	flowMost  = 4 * time.Second // what is older counts less and less
)

// wait notes whether requests wait.
func (f *flow) wait(waiting bool, now time.Time) {
	switch {
	case !waiting:
		*f = flow{}
	case f.since.IsZero():
		f.since = now
	}
}

// serve notes that a request was served.
func (f *flow) serve(now time.Time) {
	if f.since.IsZero() {
		return
	}
	f.served++
	if past := now.Sub(f.since); past > flowMost {
		f.since, f.served = f.since.Add(past/2), f.served/2
	}
}

// interval is the time from one request to the next.
func (f *flow) interval(now time.Time) (each time.Duration, ok bool) {
	past := now.Sub(f.since)
	if f.since.IsZero() || f.served == 0 || past < flowLeast {
		return 0, false
	}
	return past / time.Duration(f.served), true
}

// unused tells whether neither requests nor workers need the pool. p.mu is held.
func (p *pool) unused(now time.Time) bool {
	if p.users > 0 {
		return false
	}
	p.roster.expire(now)
	return p.roster.len() == 0
}

// workers is the number of workers that can be chosen.
func (p *pool) workers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.roster.usable(time.Now())
}
