package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// inbound is how many messages may lie between NATS and the slots, from each
	// side. They do not queue there: whatever finds no free slot is bounced at once.
	inbound = 8192
	// drainLinger is how long a draining worker keeps bouncing requests of
	// ingresses that have not heard of it yet.
	drainLinger = 2 * advertEvery
	// stuckPatience is how long a handler may run on after its context ended
	// before that is reported.
	stuckPatience = 5 * time.Second
	// lastWords is how long a cancelled handler has to answer when the grace
	// period is over.
	lastWords = time.Second
	// subscribeTimeout bounds the wait for NATS at the start.
	subscribeTimeout = 5 * time.Second
	// goodbyeTimeout bounds the wait for NATS at the end: there may be replies
	// that are kept until it comes back.
	goodbyeTimeout = 5 * time.Second
)

// A ConsumerConfig says how a worker takes requests.
type ConsumerConfig struct {
	Address
	ID string // names this incarnation of the worker; empty for a new one
	// Bulk is a second connection, for large replies, so that they do not hold up
	// small ones; nil has one connection carry all.
	Bulk      *Conn
	Slots     int           // requests that run at once; 0 means 64
	Grace     time.Duration // for what is in flight when the worker stops; 0 means 30 s
	Version   string        // the program's, SemVer
	Catalogue string        // digest of what it serves; where those of a pool change, its lists do
	// Repeatable tells whether a request may run a second time when nobody knows
	// what became of the first. Nil means that none may.
	Repeatable func(*mcp.Request) bool
}

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	if c.Slots == 0 {
		c.Slots = DefaultSlots
	}
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	return c
}

// A Consumer is a worker's end of the bus: it takes requests for one worker
// incarnation, runs each in a slot and sends the replies. It keeps no queue: a
// request that finds no free slot is bounced at once, for its ingress to send
// elsewhere.
type Consumer struct {
	conn    *Conn
	bulk    *Conn
	store   *store // for what is too large for both
	handler mcp.Handler
	cfg     ConsumerConfig
	log     *slog.Logger
	id      string // of this incarnation
	calls   callTable
	stats   stats

	inFlight atomic.Int32
	ready    atomic.Bool
	bounced  atomic.Bool   // somebody waits for a slot
	changed  chan struct{} // capacity 1: ingresses should hear of it before the next advert is due
	tempo    atomic.Int64  // what ingresses have told, a tempo
	newTempo chan struct{} // capacity 1: it has another
}

// NewConsumer makes a consumer of a fresh incarnation. It does nothing before
// Run, which may be called once.
func NewConsumer(conn *Conn, handler mcp.Handler, cfg ConsumerConfig, log *slog.Logger) (*Consumer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Slots < 0 {
		return nil, fmt.Errorf("slots %d: want at least 1", cfg.Slots)
	}
	id, bulk := cmp.Or(cfg.ID, nuid.Next()), cmp.Or(cfg.Bulk, conn)
	log = log.With(slog.String("component", "bus"), slog.String("worker", id))
	c := &Consumer{
		conn:     conn,
		bulk:     bulk,
		store:    newStore(bulk, cfg.Realm, log),
		handler:  handler,
		cfg:      cfg,
		log:      log,
		id:       id,
		stats:    stats{started: time.Now()},
		changed:  make(chan struct{}, 1),
		newTempo: make(chan struct{}, 1),
	}
	c.tempo.Store(int64(leastTempo))
	return c, nil
}

// ID names this incarnation of the worker.
func (c *Consumer) ID() string { return c.id }

// Ready tells whether the worker takes requests.
func (c *Consumer) Ready() bool {
	up, _ := c.conn.Up()
	return up && c.ready.Load() && !c.calls.isClosed()
}

// Run takes requests until ctx ends, and then drains: it leaves the queue door,
// tells the ingresses, bounces what they still send, lets what is in flight
// finish within the grace period, and unsubscribes last. Handlers have a context
// of their own, which only their deadline, a cancel or the end of the grace
// period ends.
//
// It returns an error if handlers had to be left behind, or the connection was
// closed.
func (c *Consumer) Run(ctx context.Context) error {
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	in := incoming{direct: make(chan *nats.Msg, inbound), plain: make(chan *nats.Msg, inbound)}
	door, subs, err := c.subscribe(ctx, in)
	if err != nil {
		return err
	}
	stopTaking := make(chan struct{})
	var slots sync.WaitGroup
	crew := &crew{consumer: c, work: work, direct: in.direct, stop: stopTaking, slots: &slots}
	crew.start()
	slots.Go(func() { c.answerDoor(work, in.plain, &slots, stopTaking) })
	c.advertise(workerUp)
	c.ready.Store(true)
	lost := c.tell(ctx)
	c.leaveDoor(door)
	stuck := c.drain(stopWork)
	goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	defer cancel()
	err = c.unsubscribe(goodbye, subs)
	close(stopTaking)
	c.bounceRest(work, in)
	if stuck == nil {
		slots.Wait()
	}
	return errors.Join(lost, stuck, err, c.sayGone(goodbye))
}

// incoming is where requests come in. Those through the queue door, where nobody
// looks for a free slot first, are apart from those of ingresses: what a flood of
// them overfills, and NATS then drops, is their own.
type incoming struct{ direct, plain chan *nats.Msg }

func (c *Consumer) subscribe(ctx context.Context, in incoming) (door *nats.Subscription, subs []*nats.Subscription, err error) {
	add := func(sub *nats.Subscription, err error) error {
		if err == nil {
			subs = append(subs, sub)
		}
		return err
	}
	door, err = c.conn.ChanQueueSubscribe(c.cfg.door(), doorGroup, in.plain)
	err = errors.Join(err,
		add(c.conn.Subscribe(c.cfg.control(c.id), c.onControl)),
		add(c.conn.ChanSubscribe(c.cfg.calls(c.id)+">", in.direct)),
	)
	for _, subject := range c.discoverySubjects() {
		err = errors.Join(err, add(c.conn.Subscribe(subject, c.onDiscovery)))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), subscribeTimeout)
	defer cancel()
	if err == nil {
		err = c.conn.FlushWithContext(ctx)
	}
	if err != nil {
		if door != nil {
			subs = append(subs, door)
		}
		return nil, nil, fmt.Errorf("subscribe to the bus: %w", errors.Join(err, c.unsubscribe(ctx, subs)))
	}
	return door, subs, nil
}

// leaveDoor lets NATS give plain requests to other workers from now on. Nobody
// would send again what this one refuses.
func (c *Consumer) leaveDoor(door *nats.Subscription) {
	err := door.Drain()
	if up, _ := c.conn.Up(); up && err == nil {
		err = c.conn.FlushTimeout(time.Second)
	}
	if err != nil {
		c.log.Debug("queue door not left in order", slog.Any("error", err))
	}
}

// unsubscribe returns when nothing comes any more. It drains, since a plain
// unsubscribe drops what the server has already sent.
func (c *Consumer) unsubscribe(ctx context.Context, subs []*nats.Subscription) error {
	var errs []error
	for _, sub := range subs {
		errs = append(errs, sub.Drain())
	}
	errs = append(errs, c.conn.FlushWithContext(ctx))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("unsubscribe from the bus: %w", err)
	}
	return nil
}

// bounceRest refuses what came before unsubscribe was done: nothing may start any
// more.
func (c *Consumer) bounceRest(work context.Context, in incoming) {
	for {
		var m *nats.Msg
		select {
		case m = <-in.direct:
		case m = <-in.plain:
		default:
			return
		}
		if call := c.admit(m); call != nil {
			c.run(work, call)
		}
	}
}

// sayGone sends all replies, and tells that they have been sent.
func (c *Consumer) sayGone(ctx context.Context) error {
	err := c.bulk.FlushWithContext(ctx)
	c.advertise(workerGone)
	if err := errors.Join(err, c.conn.FlushWithContext(ctx)); err != nil {
		return fmt.Errorf("send the last replies: %w", err)
	}
	return nil
}

// tell sends adverts until ctx ends. It is an error if the connection does.
func (c *Consumer) tell(ctx context.Context) error {
	tick := time.NewTicker(advertEvery)
	defer tick.Stop()
	last := time.Now()
	next := time.NewTimer(c.currentTempo().every())
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.conn.closed:
			return fmt.Errorf("take requests: %w", c.conn.closedError())
		case <-c.bulk.closed:
			return fmt.Errorf("take requests: %w", c.bulk.closedError())
		case <-tick.C:
			c.reportStuck()
			c.calls.forget(time.Now())
			continue
		case <-c.changed:
			if wait := c.currentTempo().least() - time.Since(last); wait > 0 {
				next.Reset(wait)
				continue
			}
		case <-c.newTempo: // before it is silent for longer than ingresses expect
		case <-next.C:
		}
		c.advertise(workerUp)
		last = time.Now()
		next.Reset(c.currentTempo().every())
	}
}

func (c *Consumer) currentTempo() tempo { return tempo(c.tempo.Load()) }

// setTempo takes the words of an ingress that knows how large the pool is.
func (c *Consumer) setTempo(words []string) {
	p, ok := parseTempo(words)
	if !ok || tempo(c.tempo.Swap(int64(p))) == p {
		return
	}
	select {
	case c.newTempo <- struct{}{}:
	default:
	}
}

// drain returns an error if handlers had to be left behind.
func (c *Consumer) drain(stopWork context.CancelCauseFunc) error {
	idle := c.calls.close()
	c.log.Info("draining", slog.Int("inFlight", int(c.inFlight.Load())))
	c.advertise(workerDraining)
	linger := time.After(drainLinger)
	select {
	case <-idle:
	case <-time.After(c.cfg.Grace):
		c.log.Warn("grace period is over, cancelling what is in flight", slog.Int("inFlight", int(c.inFlight.Load())))
		stopWork(errStopped())
		select {
		case <-idle:
		case <-time.After(lastWords):
			return c.leaveBehind()
		}
	}
	select {
	case <-linger:
	case <-c.conn.closed: // nothing will come
	}
	return nil
}

// errStopped is the answer to a call that the end of the grace period cut off.
func errStopped() *jsonrpc.Error { return mcp.OutcomeUnknown("the worker had to stop") }

// leaveBehind answers for handlers that do not return.
func (c *Consumer) leaveBehind() error {
	stuck := c.calls.all()
	for _, call := range stuck {
		call.finish(call.fault(errStopped()), "")
	}
	return fmt.Errorf("%d handlers ignored the end of their context and were left behind", len(stuck))
}

// advertise tells all ingresses how this worker is.
func (c *Consumer) advertise(state workerState) {
	a := advert{
		State:   state,
		Slots:   c.cfg.Slots,
		Free:    c.free(),
		TimeMs:  time.Now().UnixMilli(),
		TempoMs: c.currentTempo(),
		Version: c.cfg.Version,

		Catalogue: c.cfg.Catalogue,
	}
	body, err := jsonrpc.Marshal(a)
	if err == nil {
		err = c.conn.Publish(c.cfg.advert(c.id), body)
	}
	if err != nil {
		c.log.Debug("advert not sent", slog.Any("error", err))
	}
}

func (c *Consumer) free() int { return max(0, c.cfg.Slots-int(c.inFlight.Load())) }

// occupy takes a slot, if there is one.
func (c *Consumer) occupy() bool {
	for {
		n := c.inFlight.Load()
		if int(n) >= c.cfg.Slots {
			return false
		}
		if c.inFlight.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// vacate gives a slot back. Ingresses that were bounced hear of it at once.
func (c *Consumer) vacate() {
	c.inFlight.Add(-1)
	c.offer()
}

// want notes that a request found no slot. One may have been given back since, by
// a vacate that saw nobody who waits.
func (c *Consumer) want() {
	c.bounced.Store(true)
	if c.free() > 0 {
		c.offer()
	}
}

// offer tells those who wait, if there are any, that a slot is free.
func (c *Consumer) offer() {
	if c.bounced.CompareAndSwap(true, false) {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// reportStuck logs handlers that run on although their context has ended. They
// keep their slots: nothing can end them.
func (c *Consumer) reportStuck() {
	for _, call := range c.calls.stuck(time.Now().Add(-stuckPatience)) {
		c.stats.stuck.Add(1)
		method := ""
		if req := call.request(); req != nil {
			method = req.Method
		}
		c.log.Warn("handler ignores the end of its context and keeps its slot",
			slog.String("method", method), slog.Duration("running", time.Since(call.started)))
	}
}
