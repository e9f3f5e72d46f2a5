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

// take runs requests one at a time until stop is closed. As there is one more
// goroutine in take than there are slots, one is always free to bounce what
// finds all slots occupied.
func (c *Consumer) take(work context.Context, in incoming, stop <-chan struct{}) {
	for {
		select {
		case m := <-in.direct:
			c.receive(work, m)
		case m := <-in.plain:
			c.receive(work, m)
		case <-stop:
			return
		}
	}
}

// receive runs the request in m, or refuses it. Without a reply subject, or with
// one that cannot be a client's, it is no request: nobody waits for what it would
// do. Nor is it one if it is an ingress's but its terms cannot be read.
func (c *Consumer) receive(work context.Context, m *nats.Msg) {
	if m.Reply == "" || len(m.Reply) > maxReply {
		return
	}
	key, t, direct := parseReplySubject(c.cfg.Realm, m.Reply)
	switch {
	case direct:
	case isReplySubject(c.cfg.Realm, m.Reply):
		return
	default:
		t = doorTerms(m)
	}
	call := &call{consumer: c, key: key, reply: m.Reply, direct: direct, started: time.Now(), deadline: t.deadline}
	switch {
	case call.started.After(t.startBy):
		call.refuse(frameRefused)
	case !c.occupy():
		c.want()
		if !direct {
			call.req, _ = mcp.ParseRequest(m.Data) // for its id
		}
		call.refuse(frameBusy)
	default:
		c.run(work, call, t, m)
	}
}

func doorTerms(m *nats.Msg) terms {
	t := terms{deadline: time.Now().Add(doorDeadline), startBy: time.Now().Add(doorDeadline)}
	if m.Header.Get(headerProfile) == "contract" {
		t.profile = mcp.Contract
	}
	return t
}

// run occupies the slot until the handler returns.
func (c *Consumer) run(work context.Context, call *call, t terms, m *nats.Msg) {
	ctx, cancel := context.WithDeadlineCause(work, call.deadline, mcp.DeadlineExceeded(true))
	defer cancel()
	call.cancel = cancel
	req, fault := mcp.ParseRequest(m.Data)
	call.req = req
	if refused := c.calls.add(call); refused != started {
		c.vacate()
		call.refuse(refused)
		return
	}
	req.Profile, req.Pool = t.profile, c.cfg.Pool
	req.Mirrored, req.ParamHeaders = t.mirrored, mcp.ParamHeadersIn(m.Header)
	if p, err := url.QueryUnescape(m.Header.Get(headerPrincipal)); err == nil {
		req.Principal = p
	}
	var res *mcp.Response
	if fault == nil {
		fault = checkCarried(m.Subject, req)
	}
	if fault != nil {
		res = call.fault(fault)
	} else {
		accept := time.AfterFunc(acceptAfter, call.accept)
		res = c.handler.Handle(ctx, req, call.notify)
		accept.Stop()
	}
	c.vacate()
	c.stats.count(res, time.Since(call.started))
	call.finish(res)
	c.calls.remove(call) // last: an idle worker has sent all its replies
}

// checkCarried refuses what the bus does not carry: notifications, and requests
// for another tool than the one that the subject names, which is what NATS
// permissions are given for.
func checkCarried(subject string, req *mcp.Request) *jsonrpc.Error {
	if req.IsNotification() {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "Invalid request: the bus carries requests, this has no id")
	}
	if token := subject[strings.LastIndexByte(subject, '.')+1:]; token != subjectToken(req) {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
			"Invalid request: the subject must end in %q, the tool that the body names", subjectToken(req))
	}
	return nil
}

// onControl takes "cancel" and the keys of attempts that nobody waits for.
func (c *Consumer) onControl(m *nats.Msg) {
	words := strings.Fields(string(m.Data))
	if len(words) == 0 || words[0] != "cancel" {
		return // a word of a later protocol
	}
	for _, key := range words[1:] {
		c.calls.cancel(key, time.Now())
	}
}

// A call is one request that a worker has received.
type call struct {
	consumer *Consumer
	key      string // names the attempt; empty at the queue door
	reply    string // where replies go
	direct   bool   // the reply subject takes frames; otherwise it takes one reply
	started  time.Time
	deadline time.Time
	cancel   context.CancelFunc
	req      *mcp.Request

	// Guarded by the call table:

	cancelled time.Time // when it was cancelled
	reported  bool      // as stuck

	mu     sync.Mutex // guards what follows, and keeps replies in order
	number int        // of the last reply
	over   bool       // the last reply has been sent, or nobody waits for it
}

// accept tells the ingress that the call runs.
func (c *call) accept() { c.send(frameAccept, nil, 0) }

func (c *call) notify(notification []byte) { c.send(frameNotification, notification, 0) }

// finish sends the response. Only the first one counts.
func (c *call) finish(res *mcp.Response) {
	limit := c.consumer.conn.MaxPayload() - maxOverhead
	if int64(len(res.Body)) > limit {
		res = c.fault(mcp.MessageTooLarge("response", limit))
	}
	c.send(frameResult, res.Body, res.Code)
}

// refuse says that the request was not started.
func (c *call) refuse(kind frameKind) {
	if c.direct {
		c.send(kind, nil, 0)
		return
	}
	c.send(frameResult, c.fault(mcp.Overloaded(time.Second)).Body, mcp.CodeOverloaded)
}

// fault answers with err. An id that fills a message alone, which only the queue
// door lets in, is left out: an answer without it is better than none.
func (c *call) fault(err *jsonrpc.Error) *mcp.Response {
	var id jsonrpc.ID
	if c.req != nil {
		id = c.req.ID
	}
	res := mcp.ErrorResponse(id, err)
	if int64(len(res.Body)) > c.consumer.conn.MaxPayload() {
		return mcp.ErrorResponse("", err)
	}
	return res
}

// send publishes a reply, unless the last one has been sent.
func (c *call) send(kind frameKind, body []byte, code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	last := kind != frameAccept && kind != frameNotification
	c.over = last
	subject := c.reply
	switch {
	case c.direct:
		f := frame{kind: kind, number: c.number + 1, free: c.consumer.free(), code: code}
		subject = string(f.append(append(make([]byte, 0, len(c.reply)+24), c.reply+"."...)))
	case !last:
		return // a plain request takes one reply
	}
	if err := c.consumer.conn.Publish(subject, body); err != nil {
		c.consumer.unsent(kind, err) // the next reply takes its number
		return
	}
	c.number++
}

func (c *Consumer) unsent(kind frameKind, err error) {
	c.stats.unsent.Add(1)
	c.log.Error("reply not sent", slog.String("kind", string(rune(kind))), slog.Any("error", err))
}
