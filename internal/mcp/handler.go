// Package mcp is the Model Context Protocol, revision 2026-07-28, as a server
// sees it: requests, responses, results, errors and the contract between the
// parts that carry requests and the parts that answer them. It does no I/O.
//
// Start at Handler: transports take one, the bus client and the dispatcher are
// one. Toolset is what a tool author fills in.
package mcp

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// A Handler answers requests. The dispatcher is one, the bus client is one,
// and a middleware makes one from another; a transport takes one.
//
// Handle always yields a response; a failure is a response with an error
// object. It returns early when ctx ends. The dispatcher and those that hold
// streams then answer with EndedBy, if there is such an error; otherwise nobody
// will read the response. It may call notify before it returns, and never
// afterwards. Handle is called concurrently; it keeps neither req nor notify.
type Handler interface {
	Handle(ctx context.Context, req *Request, notify NotifyFunc) *Response
}

// EndedBy is the protocol error that the context of a request was ended with, such
// as that of a worker that had to stop; nil if there is none.
func EndedBy(ctx context.Context) *jsonrpc.Error {
	ended, _ := errors.AsType[*jsonrpc.Error](context.Cause(ctx))
	return ended
}

// A NotifyFunc sends one encoded JSON-RPC notification on the response stream
// of the request it came with, before the response. It may be called by several
// goroutines of one handler at once, and does not keep notification.
type NotifyFunc func(notification []byte)

// HandlerFunc lets an ordinary function be a Handler.
type HandlerFunc func(ctx context.Context, req *Request, notify NotifyFunc) *Response

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request, notify NotifyFunc) *Response {
	return f(ctx, req, notify)
}

// A Middleware adds to what a handler does.
type Middleware func(Handler) Handler

// Chain wraps h so that the first middleware is the outermost.
func Chain(h Handler, middleware ...Middleware) Handler {
	for _, m := range slices.Backward(middleware) {
		h = m(h)
	}
	return h
}
