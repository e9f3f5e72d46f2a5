package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// headerPrincipal carries the principal, query-escaped, when there is one.
const headerPrincipal = "Mcp-Principal"

// startWithin is how long after it was sent a request may still be started.
const startWithin = 2 * time.Second

// A ClientConfig says how an ingress uses the bus.
type ClientConfig struct {
	Realm string
	// Bulk is a second connection, for large messages, so that they do not hold up
	// small ones; nil has one connection carry all.
	Bulk     *Conn
	Deadline time.Duration // for every request, from its arrival; 0 means 60 s
	// MaxQueue bounds the requests that wait for each pool; 0 means 4096.
	MaxQueue int
	// MaxQueueBytes bounds their size; 0 means 64 MiB.
	MaxQueueBytes int
	// OnEvent is called with each event of every pool of the realm, and for all
	// lists of a pool when other workers serve it than before. It must return
	// soon, as events and adverts wait meanwhile, and may be called by two
	// goroutines at once. Nil takes none.
	OnEvent func(pool string, e mcp.Event)
	// OnGap is called when events may have been lost, because the connection
	// was; nil if nobody has to know.
	OnGap func()
}

func (c ClientConfig) withDefaults() ClientConfig {
	if c.Deadline == 0 {
		c.Deadline = 60 * time.Second
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = 4096
	}
	if c.MaxQueueBytes == 0 {
		c.MaxQueueBytes = 64 << 20
	}
	return c
}

// A Client is the ingress's end of the bus: a handler that has each request
// answered by a worker of the request's pool. It knows the workers from their
// adverts, sends to the one with the most free slots, and keeps requests in a
// bounded fair queue while none has one.
//
// It sends a request again on proof that it was not started; after a worker that
// may have started it was lost, another one decides whether it may run twice. It is
// safe for concurrent use.
type Client struct {
	conn    *Conn
	cfg     ClientConfig
	log     *slog.Logger
	id      string  // of this incarnation
	small   link    // for most requests, pings and cancels
	bulk    link    // for large requests and replies
	store   *store  // for what is too large for both
	inboxes inboxes // on small
	subs    []*nats.Subscription
	unhook  func() // ends what OpenClient has asked of conn
	lastID  atomic.Uint64
	under   sync.WaitGroup // requests in Handle, and watch
	stop    chan struct{}  // closed by Close
	clean   func()         // removes what is left in the store

	mu       sync.Mutex // guards what follows
	pools    map[string]*pool
	swept    time.Time // when pools was last searched for what nobody uses
	attempts map[uint64]*attempt
	pinged   map[string]*attempt // one of each worker that was lately pinged, by the worker's id
}

var _ mcp.Handler = (*Client)(nil)

// OpenClient starts to listen for adverts, replies and events. Close ends that;
// no request may come to Handle any more.
func OpenClient(conn *Conn, cfg ClientConfig, log *slog.Logger) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := (Address{Realm: cfg.Realm, Pool: "default"}).Validate(); err != nil {
		return nil, err
	}
	id, bulk := nuid.Next(), cmp.Or(cfg.Bulk, conn)
	log = log.With("component", "bus")
	c := &Client{
		conn:     conn,
		cfg:      cfg,
		log:      log,
		id:       id,
		small:    newLink(conn, cfg.Realm, id, smallToken),
		bulk:     newLink(bulk, cfg.Realm, id, bulkToken),
		store:    newStore(bulk, cfg.Realm, log),
		pools:    make(map[string]*pool),
		attempts: make(map[uint64]*attempt),
		unhook:   func() {},
		stop:     make(chan struct{}),
		pinged:   make(map[string]*attempt),
	}
	if cfg.OnGap != nil {
		c.unhook = conn.onReconnect(cfg.OnGap)
	}
	c.inboxes.link = c.small
	c.clean = c.startCleaning()
	if err := c.subscribe(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.under.Go(c.watch)
	return c, nil
}

func (c *Client) subscribe() error {
	add := func(conn *Conn, subject string, receive nats.MsgHandler) error {
		sub, err := conn.Subscribe(subject, receive)
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		c.subs = append(c.subs, sub)
		return nil
	}
	err := errors.Join(
		add(c.bulk.conn, c.bulk.prefix+attemptsToken+"*", c.onReply),
		add(c.small.conn, c.small.prefix+attemptsToken+"*", c.onReply),
		add(c.conn, c.small.prefix+pongsToken+"*", c.onPong),
		add(c.conn, allAdverts(c.cfg.Realm), c.onAdvert),
	)
	if c.cfg.OnEvent != nil {
		err = errors.Join(err, add(c.conn, allEvents(c.cfg.Realm), c.onEvent))
	}
	if err != nil {
		return err
	}
	if err := errors.Join(c.bulk.conn.FlushTimeout(subscribeTimeout), c.conn.FlushTimeout(subscribeTimeout)); err != nil {
		return fmt.Errorf("subscribe to the bus: %w", err)
	}
	return nil
}

// startCleaning has what is discarded removed from the store until the function
// that it returns is called, which sees to the rest within lastWords.
func (c *Client) startCleaning() (finish func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		c.store.clean(ctx, stop)
	}()
	return func() {
		defer cancel()
		close(stop)
		select {
		case <-done:
		case <-time.After(lastWords):
		}
	}
}

// Close stops listening. Requests whose context has just ended have a moment to
// tell their workers.
func (c *Client) Close() error {
	c.unhook()
	close(c.stop)
	ended := make(chan struct{})
	go func() {
		c.under.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(lastWords):
		c.log.Warn("requests are still under way")
	}
	c.clean()
	var errs []error
	if up, _ := c.conn.Up(); up && !c.conn.IsClosed() {
		errs = append(errs, c.conn.FlushTimeout(lastWords))
	}
	c.inboxes.close()
	for _, sub := range c.subs {
		if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Workers is the number of workers known in pool.
func (c *Client) Workers(pool string) int {
	c.mu.Lock()
	p := c.pools[pool]
	c.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.workers()
}

// MaxRequest is the size in bytes of the largest request that is carried now, 0 as
// long as that is not known. It is less while there is no JetStream.
func (c *Client) MaxRequest() int64 {
	limit := c.conn.maxInline()
	if limit == 0 || c.store.missing() {
		return limit
	}
	return max(limit, maxLarge)
}

// Handle has req answered by a worker. The response is an error of its own if
// there is no worker, no free slot in time, or no answer before the deadline.
func (c *Client) Handle(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	c.under.Add(1)
	defer c.under.Done()
	if limit := c.MaxRequest(); int64(len(req.Raw)) > limit {
		return mcp.ErrorResponse(req.ID, mcp.MessageTooLarge("request", limit))
	}
	p := c.enter(req.Pool)
	defer c.leave(p)
	until := c.deadline(ctx)
	t := &trial{client: c, pool: p, req: req, notify: notify, until: until, token: subjectToken(req)}
	t.waiter = waiter{principal: req.Principal, bytes: len(req.Raw)}
	defer t.discard()
	for again := false; ctx.Err() == nil && time.Now().Before(until); again = true {
		if refusal := t.deposit(ctx); refusal != nil {
			return mcp.ErrorResponse(req.ID, refusal)
		}
		m, refusal := t.next(ctx, again)
		if refusal != nil {
			return mcp.ErrorResponse(req.ID, refusal)
		}
		if res := t.send(ctx, m); res != nil {
			return res
		}
	}
	return mcp.ErrorResponse(req.ID, mcp.DeadlineExceeded(t.lost > 0))
}

func (c *Client) deadline(ctx context.Context) time.Time {
	until := time.Now().Add(c.cfg.Deadline)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		return d
	}
	return until
}

// enter returns the pool of that name; leave must follow.
func (c *Client) enter(name string) *pool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.poolOf(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	return p
}

// leave forgets a pool that has neither workers nor requests: anyone can ask
// for any name.
func (c *Client) leave(p *pool) {
	p.mu.Lock()
	p.users--
	unused := p.unused(time.Now())
	p.mu.Unlock()
	if !unused {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unused(time.Now()) {
		delete(c.pools, p.address.Pool)
	}
}

// poolOf returns the pool of that name, a new one if there is none. c.mu is held.
func (c *Client) poolOf(name string) *pool {
	p := c.pools[name]
	if p == nil {
		address := Address{Realm: c.cfg.Realm, Pool: name}
		p = &pool{
			address:     address,
			conn:        c.conn,
			roster:      roster{address: address},
			workerSince: time.Now(),
			queue:       fairQueue{maxRequests: c.cfg.MaxQueue, maxBytes: c.cfg.MaxQueueBytes},
		}
		c.pools[name] = p
	}
	return p
}

// newAttempt makes the attempt to send a request of that many bytes to m.
func (c *Client) newAttempt(p *pool, m *member, until time.Time, bytes int) *attempt {
	a := newAttempt(c.lastID.Add(1), p, m, until)
	if bytes > bulkFrom {
		a.link = c.bulk
	} else {
		a.link = c.small
		a.inbox = c.inboxes.take()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts[a.id] = a
	return a
}

func (c *Client) forget(a *attempt) {
	c.mu.Lock()
	delete(c.attempts, a.id)
	c.mu.Unlock()
	switch {
	case a.inbox == nil:
	case a.isSettled():
		c.inboxes.give(a.inbox)
	default:
		c.inboxes.drop(a.inbox)
	}
}

// onReply passes a worker's reply, or the server's word that there is none, to
// the attempt. Replies to attempts that are over are dropped.
func (c *Client) onReply(m *nats.Msg) {
	id, r, ok := c.parseReply(m)
	if !ok {
		return
	}
	c.mu.Lock()
	a := c.attempts[id]
	c.mu.Unlock()
	switch {
	case a != nil:
		a.push(r)
	case r.claim != "":
		c.store.discard(r.claim)
	}
}

// parseReply takes a message apart that has come for an attempt. It is not ok if
// it cannot be read, which is logged.
func (c *Client) parseReply(m *nats.Msg) (attempt uint64, r reply, ok bool) {
	if saysNoResponders(m) {
		attempt, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], attemptBase, 64)
		return attempt, reply{frame: frame{kind: frameNoResponders}}, err == nil
	}
	attempt, r, ok = parseReply(m.Data)
	if !ok {
		c.log.Warn("reply with an unknown frame", slog.String("subject", m.Subject))
		return 0, reply{}, false
	}
	r.claim = m.Header.Get(headerBlob)
	return attempt, r, true
}

// receive takes in what has come to the inbox of a. What an earlier request there
// was answered with may have been sent again.
func (c *Client) receive(a *attempt, m *nats.Msg) {
	if saysNoResponders(m) {
		a.put(reply{frame: frame{kind: frameNoResponders}})
		return
	}
	if id, r, ok := c.parseReply(m); ok && id == a.id {
		a.put(r)
	}
}

func (c *Client) onAdvert(m *nats.Msg) {
	name, worker, ok := parseAdvert(c.cfg.Realm, m.Subject)
	if !ok {
		return
	}
	a, ok := parseAdvertBody(m.Data)
	if !ok {
		c.log.Warn("advert that cannot be read", slog.String("subject", m.Subject))
		return
	}
	p := c.enter(name)
	changed := p.heard(worker, a)
	c.leave(p)
	if changed {
		c.listsChanged(name)
	}
	c.sweep(time.Now())
}

// sweep forgets the pools whose workers vanished without a word, now and then: of
// these neither a request nor an advert may ever come again.
func (c *Client) sweep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.swept) < forgottenAfter {
		return
	}
	c.swept = now
	for name, p := range c.pools {
		p.mu.Lock()
		if p.unused(now) {
			delete(c.pools, name)
		}
		p.mu.Unlock()
	}
}

// header returns what rides beside the body; nil when nothing has to.
func header(req *mcp.Request) nats.Header {
	if req.Principal == "" && req.ParamHeaders == nil {
		return nil
	}
	h := nats.Header{}
	if req.Principal != "" {
		h[headerPrincipal] = []string{url.QueryEscape(req.Principal)}
	}
	for name, values := range req.ParamHeaders {
		h[mcp.HeaderParam+name] = values
	}
	return h
}
