package bus

import (
	"context"
	"log/slog"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// maxMislaid is how many workers may fail to get a request from the store.
const maxMislaid = 2

// deposit stores the request if NATS does not take it, and it is not stored yet. No
// slot is held meanwhile.
func (t *trial) deposit(ctx context.Context) *jsonrpc.Error {
	c := t.client
	limit := c.conn.maxInline()
	if t.claim != "" || int64(len(t.req.Raw)) <= limit {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, t.until)
	defer cancel()
	claim, err := c.store.put(ctx, t.req.Raw)
	t.claim = claim
	switch up, _ := c.bulk.conn.Up(); {
	case err == nil:
		return nil
	case t.lost > 0:
		return errLost()
	case ctx.Err() != nil:
		return mcp.DeadlineExceeded(false)
	case !up:
		return mcp.BusDown(noWorkersPatience)
	}
	c.log.Warn("large request refused", slog.Any("error", err))
	return mcp.MessageTooLarge("request", limit)
}

// discard has the request removed from the store.
func (t *trial) discard() {
	if t.claim != "" {
		t.client.store.discard(t.claim)
		t.claim = ""
	}
}

// putAgain has the request stored anew for another attempt, after a worker could
// not get it. A nil response means that.
func (t *trial) putAgain() *mcp.Response {
	t.discard()
	t.mislaid++
	switch {
	case t.mislaid < maxMislaid:
		return nil
	case t.lost > 0:
		return mcp.ErrorResponse(t.req.ID, errLost())
	}
	return mcp.ErrorResponse(t.req.ID, mcp.MessageTooLarge("request", t.client.conn.maxInline()))
}

// fetch takes the result from the store. A nil response means that it is not there,
// and another worker may be asked whether the request may run again.
func (t *trial) fetch(ctx context.Context, r reply) *mcp.Response {
	c := t.client
	ctx, cancel := context.WithDeadline(ctx, t.until)
	defer cancel()
	defer c.store.discard(r.claim)
	body, err := c.store.get(ctx, r.claim)
	switch {
	case err == nil:
		return &mcp.Response{Body: body, Code: r.code}
	case ctx.Err() != nil:
		return mcp.ErrorResponse(t.req.ID, mcp.DeadlineExceeded(true))
	}
	c.log.Warn("large result lost", slog.Any("error", err))
	return t.miss()
}
