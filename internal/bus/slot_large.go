package bus

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// large tells whether getting at the request takes so long that its ingress may ask
// for it meanwhile: the call is in the table before that.
func (c *call) large() bool { return c.claim != "" || len(c.body) > bulkFrom }

// body is the call's request as it was received.
func (c *Consumer) body(ctx context.Context, call *call) ([]byte, error) {
	if call.claim == "" {
		return call.body, nil
	}
	return c.store.get(ctx, call.claim)
}

// fetch takes the call's request from the store if it is there, and parses it. A refusal means that
// it must not start.
func (c *Consumer) fetch(ctx context.Context, call *call) (refusal frameKind) {
	body, err := c.body(ctx, call)
	switch {
	case err == nil:
	case isStopped(ctx):
		return frameDrain
	case ctx.Err() != nil:
		return frameRefused
	default:
		c.log.Warn("large request not fetched", slog.Any("error", err))
		return frameMislaid
	}
	req, invalid := mcp.ParseRequest(body)
	call.mu.Lock()
	call.req, call.invalid = req, invalid
	call.mu.Unlock()
	if call.again && !c.repeatable(call) {
		return frameOnce
	}
	return 0
}

// isStopped tells whether ctx has ended since the worker had to stop.
func isStopped(ctx context.Context) bool {
	fault, ok := errors.AsType[*jsonrpc.Error](context.Cause(ctx))
	return ok && fault.Code == mcp.CodeOutcomeUnknown
}

// deposit stores a response that NATS does not take, and returns the claim to it. If
// that cannot be, the response becomes one that says so.
func (c *Consumer) deposit(ctx context.Context, call *call, res *mcp.Response) (_ *mcp.Response, claim string) {
	size, limit := int64(len(res.Body)), c.conn.maxInline()
	switch {
	case size <= limit:
		return res, ""
	case call.direct && size > maxLarge:
		return call.fault(mcp.MessageTooLarge("response", max(limit, maxLarge))), ""
	case !call.direct:
		return call.fault(mcp.MessageTooLarge("response", limit)), ""
	}
	claim, err := c.store.put(ctx, res.Body)
	if err == nil {
		return res, claim
	}
	c.log.Warn("large response not stored", slog.Any("error", err))
	if fault, ok := errors.AsType[*jsonrpc.Error](context.Cause(ctx)); ok {
		return call.fault(fault), ""
	}
	return call.fault(mcp.MessageTooLarge("response", limit)), ""
}

// publish sends a reply on the connection for its size.
func (c *Consumer) publish(r sentReply) error {
	conn := c.conn
	if len(r.body) > bulkFrom {
		conn = c.bulk
	}
	if r.attempt == 0 {
		return conn.Publish(r.subject, r.body)
	}
	message := newMessage(r.body, r.attempt)
	defer recycle(message)
	*message = r.frame.append(*message)
	if r.claim == "" {
		return conn.Publish(r.subject, *message)
	}
	return conn.PublishMsg(&nats.Msg{Subject: r.subject, Header: nats.Header{headerBlob: []string{r.claim}}, Data: *message})
}

// request is the call's request, nil if it has not been read yet. Any goroutine may
// ask.
func (c *call) request() *mcp.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.req
}
