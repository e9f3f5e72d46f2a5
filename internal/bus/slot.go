package bus

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// acceptAfter is how long a call runs before its ingress is told that it
	// does: quick calls cost two messages and no more.
	acceptAfter = 20 * time.Millisecond
	// doorDeadline bounds requests through the queue door, which have no terms.
	doorDeadline = 60 * time.Second
	// headerProfile is "contract" on requests through the queue door that are
	// not MCP as published.
	headerProfile = "Mcp-Profile"
)

// answerDoor has requests through the queue door run, each on a goroutine of its
// own, until stop is closed.
func (c *Consumer) answerDoor(work context.Context, plain <-chan *nats.Msg, slots *sync.WaitGroup, stop <-chan struct{}) {
	for {
		select {
		case m := <-plain:
			if call := c.admit(m); call != nil {
				slots.Go(func() { c.run(work, call) })
			}
		case <-stop:
			return
		}
	}
}

// admit occupies a slot for the request in m, or refuses it. Without a reply
// subject, or with one that cannot be a client's, it is no request: nobody waits
// for what it would do. Nor is it one if it is an ingress's but its terms cannot
// be read.
func (c *Consumer) admit(m *nats.Msg) *call {
	if m.Reply == "" || len(m.Reply) > maxReply {
		return nil
	}
	call := &call{consumer: c, msg: m, body: m.Data, started: time.Now()}
	switch {
	case !isReplySubject(c.cfg.Realm, m.Reply):
		call.terms = doorTerms(m)
	case !call.readTerms():
		return nil
	}
	switch {
	case call.started.After(call.startBy):
		call.refuse(frameRefused)
	case call.again && !call.large() && !c.repeatable(call):
		call.refuse(frameOnce)
	case !c.occupy():
		c.want()
		call.refuse(frameBusy)
	default:
		return call
	}
	return nil
}

// repeatable tells whether running the request twice does no harm.
func (c *Consumer) repeatable(call *call) bool {
	return call.parse() == nil && c.cfg.Repeatable != nil && c.cfg.Repeatable(call.req)
}

// errLate is why the context of a call ends at its deadline.
var errLate = mcp.DeadlineExceeded(true)

func doorTerms(m *nats.Msg) terms {
	t := terms{deadline: time.Now().Add(doorDeadline), startBy: time.Now().Add(doorDeadline)}
	if m.Header.Get(headerProfile) == "contract" {
		t.profile = mcp.Contract
	}
	return t
}

// run has the handler answer the request, in the slot that it occupies.
func (c *Consumer) run(work context.Context, call *call) {
	ctx, cancel := context.WithDeadlineCause(work, call.deadline, errLate)
	defer cancel()
	call.cancel = cancel
	var fault *jsonrpc.Error
	if !call.large() {
		fault = call.parse()
	}
	switch c.calls.add(call) {
	case mayStart:
	case ifDraining:
		c.vacate()
		call.refuse(frameDrain)
		return
	case ifCancelled:
		c.vacate()
		call.refuse(frameRefused)
		return
	case ifSeen:
		c.vacate()
		return
	}
	if call.large() {
		if refusal := c.fetch(ctx, call); refusal != 0 {
			c.vacate()
			call.refuse(refusal)
			c.calls.remove(call, sentReply{}, time.Now())
			return
		}
		fault = call.invalid
	}
	res := c.answer(ctx, call, fault)
	res, claim := c.deposit(ctx, call, res) // before another call may begin: it takes memory
	c.vacate()
	c.stats.count(res, time.Since(call.started))
	result := call.finish(res, claim)
	if claim != "" && result.subject == "" {
		c.store.remove(context.WithoutCancel(work), claim)
	}
	c.calls.remove(call, result, time.Now()) // last: an idle worker has sent all its replies
}

// answer is what the request is answered with.
func (c *Consumer) answer(ctx context.Context, call *call, fault *jsonrpc.Error) *mcp.Response {
	if fault == nil {
		fault = checkCarried(call.msg.Subject, call.req)
	}
	if fault != nil {
		return call.fault(fault)
	}
	req := call.req
	req.Profile, req.Pool = call.profile, c.cfg.Pool
	req.Mirrored, req.ParamHeaders = call.mirrored, mcp.ParamHeadersIn(call.msg.Header)
	if p, err := url.QueryUnescape(call.msg.Header.Get(headerPrincipal)); err == nil {
		req.Principal = p
	}
	accept := time.AfterFunc(acceptAfter, call.accept)
	defer accept.Stop()
	return c.handler.Handle(ctx, req, call.notify)
}

// checkCarried refuses what the bus does not carry: notifications, and requests
// for another tool than the one that the subject names, which is what NATS
// permissions are given for.
func checkCarried(subject string, req *mcp.Request) *jsonrpc.Error {
	if req.IsNotification() {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "Invalid request: the bus carries requests, this has no id")
	}
	if token := subjectToken(req); token != subject[strings.LastIndexByte(subject, '.')+1:] {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
			"Invalid request: the subject must end in %q, the tool that the body names", token)
	}
	return nil
}

// A call is one request that a worker has received.
type call struct {
	terms
	consumer *Consumer
	msg      *nats.Msg
	body     []byte
	direct   bool       // the ingress takes frames; otherwise it takes one reply
	key      attemptKey // empty at the queue door
	prefix   string     // of the ingress's reply subjects
	started  time.Time
	cancel   context.CancelFunc
	claim    string         // to the request, if that is in the store
	req      *mcp.Request   // nil before parse; mu guards it in a large call
	invalid  *jsonrpc.Error // what is wrong with it

	// Guarded by the call table:

	cancelled time.Time // when it was cancelled
	reported  bool      // as stuck

	mu     sync.Mutex // guards what follows, and keeps replies in order
	number int        // of the last reply
	over   bool       // the last reply has been sent, or nobody waits for it
}

// readTerms takes what an ingress has put behind the request.
func (c *call) readTerms() (ok bool) {
	var attempt uint64
	var ingress string
	var token []byte
	if ingress, c.prefix, ok = parseReplySubject(c.consumer.cfg.Realm, c.msg.Reply); !ok {
		return false
	}
	if c.body, attempt, token, ok = cutTrailer(c.msg.Data); !ok || attempt == 0 {
		return false
	}
	c.direct, c.key = true, attemptKey{ingress: ingress, attempt: attempt}
	c.claim = c.msg.Header.Get(headerBlob)
	c.terms, ok = parseTerms(token)
	return ok
}

// parse reads the request, if it has not been read, and returns what is wrong
// with it.
func (c *call) parse() *jsonrpc.Error {
	if c.req == nil {
		c.req, c.invalid = mcp.ParseRequest(c.body)
	}
	return c.invalid
}

// accept tells the ingress that the call runs.
func (c *call) accept() { c.send(frameAccept, nil, 0) }

func (c *call) notify(notification []byte) { c.send(frameNotification, notification, 0) }

// finish sends the response, or the claim to it if there is one, and returns what
// was sent. Only the first one counts.
func (c *call) finish(res *mcp.Response, claim string) sentReply {
	if claim != "" {
		return c.sendReply(frameResult, nil, claim, res.Code)
	}
	return c.send(frameResult, res.Body, res.Code)
}

// refuse says that the request was not started.
func (c *call) refuse(kind frameKind) {
	if c.direct {
		c.send(kind, nil, 0)
		return
	}
	_ = c.parse() // for its id
	c.send(frameResult, c.fault(mcp.Overloaded(time.Second)).Body, mcp.CodeOverloaded)
}

// fault answers with err. An id that fills a message alone, which only the queue
// door lets in, is left out: an answer without it is better than none.
func (c *call) fault(err *jsonrpc.Error) *mcp.Response {
	var id jsonrpc.ID
	if req := c.request(); req != nil {
		id = req.ID
	}
	res := mcp.ErrorResponse(id, err)
	if int64(len(res.Body)) > c.consumer.conn.MaxPayload() {
		return mcp.ErrorResponse("", err)
	}
	return res
}

func (c *call) send(kind frameKind, body []byte, code int) (sent sentReply) {
	return c.sendReply(kind, body, "", code)
}

// sendReply publishes a reply, unless the last one has been sent.
func (c *call) sendReply(kind frameKind, body []byte, claim string, code int) (sent sentReply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return sentReply{}
	}
	last := kind != frameAccept && kind != frameNotification
	c.over = last
	if !c.direct && !last {
		return sentReply{} // a plain request takes one reply
	}
	sent = sentReply{subject: c.msg.Reply, body: body, claim: claim}
	if c.direct {
		sent.subject = c.replyTo(last && claim == "", len(body))
		sent.attempt = c.key.attempt
		sent.frame = frame{kind: kind, number: c.number + 1, free: c.consumer.free(), code: code}
	}
	if err := c.consumer.publish(sent); err != nil {
		c.consumer.unsent(kind, err) // the next reply takes its number
	} else {
		c.number++
	}
	return sent
}

// replyTo is the subject for a reply of that size to an ingress. That of the
// request is for the last one, if it is small and has its body with it.
func (c *call) replyTo(last bool, size int) string {
	switch {
	case size > bulkFrom:
		return attemptSubject(bulkPrefix(c.consumer.cfg.Realm, c.prefix), c.key.attempt)
	case last:
		return c.msg.Reply
	}
	return attemptSubject(c.prefix, c.key.attempt)
}

func (c *Consumer) unsent(kind frameKind, err error) {
	c.stats.unsent.Add(1)
	c.log.Error("reply not sent", slog.String("kind", string(rune(kind))), slog.Any("error", err))
}
