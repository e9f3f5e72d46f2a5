package bus

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// maxOverhead is what headers and the trailer may add to a message's body.
	maxOverhead = 4 << 10
	// deadlineSlack is how much later than the ingress a worker ends the work.
	// The ingress cancels it at the deadline and says so to its client; the
	// worker's word that time is up must not come first.
	deadlineSlack = 100 * time.Millisecond
)

// A trial is a request on its way to an answer, through one attempt after the
// other. It belongs to the goroutine of Client.Handle.
type trial struct {
	client *Client
	pool   *pool
	req    *mcp.Request
	notify mcp.NotifyFunc
	until  time.Time
	waiter waiter
	token  string // the last of the subject that req travels on

	lost     int // attempts that may have run, and of which no result will come
	offered  int // value of lost when a worker was last asked whether that does harm
	notifier int // the run of which the client has had notifications, from 1; 0 if it has had none

	claim   string // to the request in the store, if NATS does not take it
	mislaid int    // how often a worker did not get it from there
}

// maxLost is how many attempts with an unknown outcome may follow each other.
const maxLost = 3

// next takes a slot for the next attempt. Whether a request may run twice is for a
// worker to say, and most say no: it is asked before a slot is waited for.
func (t *trial) next(ctx context.Context, again bool) (*member, *jsonrpc.Error) {
	if t.lost > t.offered {
		t.offered = t.lost
		if m := t.pool.anyone(); m != nil {
			return m, nil
		}
	}
	m, refusal := t.pool.acquire(ctx, t.until, &t.waiter, again)
	if refusal != nil && t.lost > 0 {
		return nil, errLost()
	}
	return m, refusal
}

// errLost is the answer to a request whose worker is lost.
func errLost() *jsonrpc.Error { return mcp.OutcomeUnknown("the worker that had the request was lost") }

// send sends the request to m and waits for its answer. A nil response means
// that it was not started there and may be sent again.
func (t *trial) send(ctx context.Context, m *member) *mcp.Response {
	c := t.client
	a := c.newAttempt(t.pool, m, t.until, len(t.req.Raw))
	defer c.forget(a)
	if err := t.publish(a); err != nil {
		return t.unsent(ctx, a, err)
	}
	return t.await(ctx, a)
}

func (t *trial) publish(a *attempt) error {
	now := time.Now()
	offset := a.member.clockOffset()
	subject := a.member.calls + t.token
	body := t.req.Raw
	if t.claim != "" {
		body = nil
	}
	message := newMessage(body, a.id)
	defer recycle(message)
	*message = terms{
		profile:  t.req.Profile,
		again:    t.lost > 0,
		mirrored: t.req.Mirrored,
		startBy:  earlier(now.Add(startWithin), t.until).Add(offset),
		deadline: t.until.Add(offset + deadlineSlack),
	}.append(*message)
	h := header(t.req)
	if t.claim != "" {
		if h == nil {
			h = nats.Header{}
		}
		h[headerBlob] = []string{t.claim}
	}
	if h == nil {
		return a.link.conn.PublishRequest(subject, a.replyTo(), *message)
	}
	return a.link.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: a.replyTo(), Header: h, Data: *message})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// unsent deals with a request that did not leave this process. Unless it never
// will, that is because the connection is down: it waits until it is up again.
func (t *trial) unsent(ctx context.Context, a *attempt, err error) *mcp.Response {
	t.pool.release(a.member)
	switch {
	case errors.Is(err, nats.ErrConnectionClosed):
		return mcp.ErrorResponse(t.req.ID, mcp.BusDown(maxRetryAfter))
	case errors.Is(err, nats.ErrMaxPayload): // with a header larger than maxOverhead
		return mcp.ErrorResponse(t.req.ID, mcp.MessageTooLarge("request", t.client.conn.maxInline()))
	}
	late := time.After(time.Until(t.until))
	patience := time.NewTimer(outagePatience)
	if up, lasting := a.link.conn.Up(); !up {
		patience.Reset(outagePatience - lasting)
	}
	defer patience.Stop()
	select {
	case <-a.link.conn.Connected():
		return nil
	case <-patience.C:
		return mcp.ErrorResponse(t.req.ID, mcp.BusDown(noWorkersPatience))
	case <-late:
	case <-ctx.Done():
	}
	return mcp.ErrorResponse(t.req.ID, mcp.DeadlineExceeded(t.lost > 0))
}

// await takes replies until one is final.
func (t *trial) await(ctx context.Context, a *attempt) *mcp.Response {
	var gap <-chan time.Time
	for {
		select {
		case m := <-a.last():
			t.client.receive(a, m)
		case <-a.wake:
		case <-gap:
			a.skipGap()
			gap = nil
		case <-ctx.Done():
			return t.abandon(a)
		}
		ready, missing := a.take()
		for _, r := range ready {
			if res, over := t.reply(ctx, a, r); over {
				return res
			}
		}
		switch {
		case !missing:
			gap = nil
		case gap == nil:
			gap = time.After(gapPatience)
		}
	}
}

// reply deals with one reply; over ends the attempt, with a nil response if the
// request was not started.
func (t *trial) reply(ctx context.Context, a *attempt, r reply) (res *mcp.Response, over bool) {
	switch r.kind {
	case frameNotification:
		t.pass(r.body)
		return nil, false
	case frameAccept:
		return nil, false
	case frameNoResponders:
		t.client.log.Info("worker has no subscription, forgetting it", slog.String("worker", a.member.id))
		t.pool.lost(a.member)
		return nil, true
	case frameResult:
		if dropped := a.overflow(); dropped > 0 {
			t.client.log.Warn("notifications dropped for a slow client", slog.Int("dropped", dropped))
		}
		t.pool.answered(a.member, r.frame, time.Since(a.sent))
		if r.claim != "" {
			return t.fetch(ctx, r), true
		}
		return &mcp.Response{Body: r.body, Code: r.code}, true
	case frameOnce:
		t.pool.answered(a.member, r.frame, 0)
		return mcp.ErrorResponse(t.req.ID, errLost()), true
	case frameMislaid:
		t.pool.answered(a.member, r.frame, 0)
		return t.putAgain(), true
	case frameUnknown:
		if !a.hasRun() {
			t.pool.answered(a.member, r.frame, 0)
			return nil, true
		}
		return t.lose(a), true // the worker has forgotten it
	case frameForgotten, frameLost:
		return t.lose(a), true
	case frameLate:
		return t.abandon(a), true
	default:
		t.pool.answered(a.member, r.frame, 0)
		return nil, true
	}
}

// lose deals with an attempt of which nothing more will be heard. A nil response
// means that another worker may be asked.
func (t *trial) lose(a *attempt) *mcp.Response {
	t.pool.release(a.member)
	return t.miss()
}

// miss deals with a result that will not come. A nil response means that another
// worker may be asked.
func (t *trial) miss() *mcp.Response {
	if t.lost++; t.lost < maxLost {
		return nil
	}
	return mcp.ErrorResponse(t.req.ID, errLost())
}

// pass hands a notification on. Those of a later run stay away from a client that
// has had some of an earlier one: progress must not go back.
func (t *trial) pass(notification []byte) {
	run := t.lost + 1
	if t.notifier == 0 {
		t.notifier = run
	}
	if t.notifier == run {
		t.notify(notification)
	}
}

// abandon tells the worker that nobody waits any more. The worker may not have
// started the request, but there is no proof of that.
func (t *trial) abandon(a *attempt) *mcp.Response {
	c := t.client
	subject := t.pool.address.control(a.member.id)
	if err := c.conn.Publish(subject, append([]byte(wordCancel), c.keyed(a)...)); err != nil {
		c.log.Debug("cancel not sent", slog.Any("error", err)) // its deadline ends the work
	}
	t.pool.release(a.member)
	return mcp.ErrorResponse(t.req.ID, mcp.DeadlineExceeded(true))
}
