package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Log writes one line per request to log at the request's end: on level Warn
// when the error is internal, on Debug otherwise. It names a tool or prompt only
// if the handler that it wraps is a Dispatcher and serves it: other names are
// whatever a client sent.
func Log(log *slog.Logger) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			start := time.Now()
			res := next.Handle(ctx, req, notify)
			level := slog.LevelDebug
			if res.Code == jsonrpc.CodeInternalError {
				level = slog.LevelWarn
			}
			if log.Enabled(ctx, level) {
				log.LogAttrs(ctx, level, "request", line(next, req, res, time.Since(start))...)
			}
			return res
		})
	}
}

func line(h mcp.Handler, req *mcp.Request, res *mcp.Response, took time.Duration) []slog.Attr {
	attrs := append(identity(req), slog.Int("code", res.Code), slog.Duration("duration", took))
	d, ok := h.(*Dispatcher)
	if !ok || !d.inCatalogue(req) {
		return attrs
	}
	key := "tool"
	if req.Method == mcp.MethodPromptsGet {
		key = "prompt"
	}
	name, _ := req.Target()
	return append(attrs, slog.String(key, name))
}

// inCatalogue tells whether req is about a tool or prompt that d serves.
func (d *Dispatcher) inCatalogue(req *mcp.Request) (ok bool) {
	name, _ := req.Target()
	switch req.Method {
	case mcp.MethodToolsCall:
		_, ok = d.tools[name]
	case mcp.MethodPromptsGet:
		_, ok = d.prompts[name]
	}
	return ok
}
