// Package mcphttp is the Streamable HTTP transport: it turns each POST into one
// mcp.Request, has an mcp.Handler answer it, and writes the response as JSON or
// as a stream of events. It keeps nothing between requests, and it knows
// neither how requests are answered nor where.
//
// Start at Handler. What is checked before a request is handed on is in
// origin.go, negotiate.go, body.go and headers.go, in that order; what is
// written, in reply.go and stream.go; with which status, in status.go.
//
// Spec: MCP 2026-07-28, Streamable HTTP.
package mcphttp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A Handler serves these paths to POST requests:
//
//	/mcp, /mcp/{pool}   MCP as published
//	/rpc, /rpc/{pool}   the plain JSON-RPC tool server contract
//
// The context that it hands on ends when the client is gone or accepts nothing
// any more. NewServer makes the server that it is meant for; a ResponseWriter
// that a middleware puts in between must have an Unwrap method.
type Handler struct {
	next  mcp.Handler
	cfg   Config
	guard guard
	log   *slog.Logger

	memory memory
}

// New returns a Handler that has next answer requests. Its error lists all that
// is wrong with cfg.
func New(next mcp.Handler, cfg Config, log *slog.Logger) (*Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Handler{next: next, cfg: cfg, guard: newGuard(cfg), log: log, memory: newMemory(cfg.MaxBodies)}, nil
}

// ServeHTTP answers one POST.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	out := reply{w: w, control: http.NewResponseController(w), timeout: h.cfg.WriteTimeout}
	// The deadline comes first because net/http reads on in the body of a
	// request that is refused. A ResponseWriter that has no deadlines, as in
	// tests, has no slow client either.
	_ = out.control.SetReadDeadline(start.Add(h.cfg.BodyTimeout))
	h.serve(&out, r)
	h.report(r.Context(), &out, time.Since(start))
}

func (h *Handler) serve(out *reply, r *http.Request) {
	in, no := h.enter(r)
	if no != nil {
		out.refuse("", no)
		return
	}
	buf := buffers.Get().(*[]byte)
	claimed := h.memory.claim()
	defer claimed.release()
	if *buf, no = h.readBody(r, (*buf)[:0], &claimed); no != nil {
		out.refuse("", no)
	} else {
		_ = out.control.SetReadDeadline(time.Time{}) // from here on a read only tells that the client is gone
		h.answer(out, r, in, *buf, &claimed)
	}
	release(buf) // not deferred: after a panic something may still read it
}

// An entry is what is known of a request before its body is read.
type entry struct {
	door   door
	accept accepted
}

// enter checks all that can be checked before the body is read.
func (h *Handler) enter(r *http.Request) (entry, *refusal) {
	if no := h.guard.check(r); no != nil {
		return entry{}, no
	}
	door, ok := h.route(r.URL.Path)
	switch {
	case !ok:
		return entry{}, &refusal{status: http.StatusNotFound, hint: "MCP is at /mcp and /mcp/{pool}, plain JSON-RPC at /rpc and /rpc/{pool}.\n"}
	case r.Method != http.MethodPost:
		return entry{}, refuse(http.StatusMethodNotAllowed, "this endpoint only takes POST")
	case door.profile == mcp.Strict && !isJSON(r.Header["Content-Type"]): // callers of the contract may be as simple as curl -d
		return entry{}, refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json in UTF-8")
	}
	accept := parseAccept(r.Header["Accept"])
	if !accept.json && !accept.events {
		return entry{}, refuse(http.StatusNotAcceptable, "Accept must allow application/json or text/event-stream")
	}
	return entry{door: door, accept: accept}, nil
}

// A door is what the path of a request stands for.
type door struct {
	profile mcp.Profile
	pool    string
}

// route is written out because a ServeMux costs more than all other checks
// before the body.
func (h *Handler) route(path string) (d door, ok bool) {
	d.profile = mcp.Strict
	rest, ok := strings.CutPrefix(path, "/mcp")
	if !ok {
		d.profile = mcp.Contract
		rest, ok = strings.CutPrefix(path, "/rpc")
	}
	switch {
	case !ok:
		return door{}, false
	case rest == "":
		d.pool = h.cfg.Pool
		return d, true
	}
	d.pool, ok = strings.CutPrefix(rest, "/")
	return d, ok && isPoolName(d.pool)
}

// answer takes body, one JSON-RPC message, to the handler and its response to
// the client.
func (h *Handler) answer(out *reply, r *http.Request, in entry, body []byte, claimed *claim) {
	req, err := h.memory.parse(r.Context(), body, claimed)
	if err != nil {
		out.refuse(req.ID, refuseWith(err))
		return
	}
	if req.IsNotification() { // this transport has none that tell a server anything
		out.write(http.StatusAccepted, nil)
		return
	}
	req.Profile, req.Pool = in.door.profile, in.door.pool
	if req.Profile == mcp.Strict {
		if no := cmp.Or(checkStrict(req, r.Header), checkStream(req, in.accept)); no != nil {
			out.refuse(req.ID, no)
			return
		}
	}
	h.forward(r.Context(), out, req, in.accept)
}

// checkStrict makes the checks that MCP asks for on every request, in the order
// in which their errors help a client most: one of an earlier revision sees
// that its handshake is gone, and one that sends no metadata sees that rather
// than a mismatch between its headers and nothing.
func checkStrict(req *mcp.Request, header http.Header) *refusal {
	if req.Method == mcp.MethodInitialize {
		return refuseWith(mcp.MethodNotFound(req.Method))
	}
	if err := req.ValidateMeta(); err != nil {
		return &refusal{status: http.StatusBadRequest, err: err}
	}
	err := cmp.Or(checkVersion(header, req), req.ValidateVersion(), checkMethod(header, req), checkName(header, req))
	if err != nil {
		return refuseWith(err)
	}
	return takeParams(header, req)
}

// checkStream refuses to listen for a client that takes no events: it would wait
// for ever for what it cannot be sent.
func checkStream(req *mcp.Request, accept accepted) *refusal {
	if req.Method == mcp.MethodListen && !accept.events {
		return refuse(http.StatusNotAcceptable, "Accept must allow text/event-stream, as the answer is a stream")
	}
	return nil
}

// forward has the handler answer req.
func (h *Handler) forward(ctx context.Context, out *reply, req *mcp.Request, accept accepted) {
	s := stream{reply: out, silence: h.cfg.KeepAlive}
	defer s.end()
	notify := discard
	if accept.events {
		s.start()
		notify = func(notification []byte) {
			if ctx.Err() == nil {
				s.notify(notification)
			}
		}
	}
	res := h.next.Handle(ctx, req, notify)
	if ctx.Err() != nil {
		s.abandon()
		return
	}
	s.finish(res, accept)
}

// discard takes the notifications for a client that accepts no stream.
func discard([]byte) {}

func (h *Handler) report(ctx context.Context, out *reply, took time.Duration) {
	if !h.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	h.log.LogAttrs(ctx, slog.LevelDebug, "request answered",
		slog.Int("status", out.status), slog.Int("code", out.code), slog.Duration("duration", took))
}
