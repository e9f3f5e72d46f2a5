package bus

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// A request that takes microseconds costs more to hand to another goroutine than
// to run. So while requests come faster than one at a time, the goroutine that
// receives them, the leader, runs those itself that should be quick, and gives the
// others goroutines of their own. If it is wrong about one, another goroutine leads
// on after a millisecond or two, and it runs that one to its end.

const (
	// quick is how long a call may take that a leader runs itself.
	quick = 500 * time.Microsecond
	// patrolEvery is how often the leaders are looked at while they run calls
	// themselves, and patrolIdle how often no request may wait then before they do
	// not any more: to be looked at costs more than it saves when there is little to do.
	patrolEvery = time.Millisecond
	patrolIdle  = 10
	// backlogged is how many times in a row requests have to lie there for another
	// leader to come to help.
	backlogged = 3
	// coresPerHelper is how many cores there have to be for each of these. On fewer,
	// a backlog shows that other processes need them, and a second leader would
	// only spoil what makes the first one fast: that it does much at a time.
	coresPerHelper = 4
)

// A crew is the leaders of a consumer.
type crew struct {
	consumer *Consumer
	work     context.Context //nolint:containedctx // of all calls
	direct   <-chan *nats.Msg
	stop     <-chan struct{}
	slots    *sync.WaitGroup // all goroutines

	paces   paces
	helpers atomic.Int32           // leaders that are there because of a backlog
	first   atomic.Pointer[leader] // the one that stays
	resting atomic.Bool            // nobody is on patrol, and leaders run nothing themselves
	wake    chan struct{}          // capacity 1
}

// A leader is one goroutine that receives requests.
type leader struct {
	since    atomic.Int64 // when it began to run a call itself, Unix nanoseconds; 0 when it does not
	relieved atomic.Bool  // another one leads on
}

// start has requests run until stop is closed.
func (c *crew) start() {
	c.wake = make(chan struct{}, 1)
	c.promote()
	c.slots.Go(c.patrol)
}

// promote makes a new first leader.
func (c *crew) promote() {
	l := new(leader)
	c.first.Store(l)
	c.slots.Go(func() { c.lead(l) })
}

func (c *crew) lead(l *leader) {
	for !l.relieved.Load() {
		select {
		case m := <-c.direct:
			c.take(l, m)
		case <-c.stop:
			return
		}
	}
}

// help leads until no request lies there.
func (c *crew) help() {
	defer c.helpers.Add(-1)
	for l := new(leader); ; {
		select {
		case m := <-c.direct:
			c.take(l, m)
		default:
			return
		}
	}
}

// take has the request in m run, or refused.
func (c *crew) take(l *leader, m *nats.Msg) {
	call := c.consumer.admit(m)
	if call == nil {
		return
	}
	pace := c.paces.of(m.Subject)
	alone := len(c.direct) == 0 && c.resting.Load()
	if alone || call.large() || !pace.quick() {
		c.slots.Go(func() { c.run(call, pace) })
		return
	}
	l.since.Store(call.started.UnixNano())
	if c.resting.Load() && c.resting.CompareAndSwap(true, false) {
		c.wake <- struct{}{}
	}
	c.run(call, pace)
	l.since.Store(0)
}

func (c *crew) run(call *call, pace *pace) {
	began := time.Now() // not when it came: a new goroutine may have to wait for its turn
	c.consumer.run(c.work, call)
	pace.note(time.Since(began))
}

// patrol looks after the leaders until stop is closed.
func (c *crew) patrol() {
	tick := time.NewTicker(patrolEvery)
	defer tick.Stop()
	for {
		tick.Stop()
		if !c.rest() {
			return
		}
		tick.Reset(patrolEvery)
		for round := (round{}); round.idle < patrolIdle; {
			select {
			case now := <-tick.C:
				c.relieve(now, &round)
			case <-c.stop:
				return
			}
		}
	}
}

// rest waits until a leader runs a call itself; false when stop is closed.
func (c *crew) rest() bool {
	c.resting.Store(true)
	if c.first.Load().since.Load() != 0 && c.resting.CompareAndSwap(true, false) {
		return true // it began before it could see that nobody watches
	}
	select {
	case <-c.wake:
		return true
	case <-c.stop:
		return false
	}
}

// A round is what a patrol has found so far.
type round struct {
	idle    int // times in a row that no request lay there
	backlog int // times in a row that some did
}

// relieve replaces the first leader if it is held up, and calls for help if it
// cannot keep up.
func (c *crew) relieve(now time.Time, r *round) {
	first := c.first.Load()
	since := first.since.Load()
	if since != 0 && now.UnixNano()-since > int64(patrolEvery) {
		first.relieved.Store(true)
		c.promote()
	}
	if len(c.direct) == 0 {
		r.idle, r.backlog = r.idle+1, 0
		return
	}
	r.idle = 0
	if r.backlog++; r.backlog >= backlogged && int(c.helpers.Load()) < runtime.GOMAXPROCS(0)/coresPerHelper {
		c.helpers.Add(1)
		c.slots.Go(c.help)
	}
}

// maxPaces bounds how many kinds of requests are told apart: their names may be
// anything that a client sends.
const maxPaces = 1 << 14

// paces has what is known of the requests of each subject.
type paces struct {
	known sync.Map // by tool token, of *pace
	count atomic.Int32
}

func (p *paces) of(subject string) *pace {
	token := subject[strings.LastIndexByte(subject, '.')+1:]
	if known, ok := p.known.Load(token); ok {
		return known.(*pace)
	}
	if p.count.Load() >= maxPaces {
		return new(pace)
	}
	known, loaded := p.known.LoadOrStore(strings.Clone(token), new(pace))
	if !loaded {
		p.count.Add(1)
	}
	return known.(*pace)
}

// A pace tells whether a kind of request is quick: four of five of the last ones
// have to have been.
type pace struct{ score atomic.Int32 }

const (
	paceQuick = 8  // score from which it is
	paceMost  = 32 // more is not counted
	paceLoss  = 4  // for each that was not
)

func (p *pace) quick() bool { return p.score.Load() >= paceQuick }

// note takes in how long a request took. Two at once may count as one.
func (p *pace) note(took time.Duration) {
	score := p.score.Load()
	switch {
	case took > quick:
		p.score.Store(max(score-paceLoss, 0))
	case score < paceMost:
		p.score.Store(score + 1)
	}
}
