// Package mcpstdio is the stdio transport: JSON-RPC messages, one a line, read
// from one stream and written to another, as a host exchanges them with a
// server that it runs as a subprocess. Requests are answered concurrently and
// in any order.
//
// Start at Server. lines.go reads and writes lines, inflight.go knows the
// requests that are not answered yet.
//
// Spec: MCP 2026-07-28, stdio.
package mcpstdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Config has the limits of a Server. The zero Config is ready.
type Config struct {
	// Pool is the pool that answers; empty means "default".
	Pool string

	// MaxLine is the size in bytes of the longest line that is read; zero
	// means 4 MiB.
	MaxLine int64

	// MaxInFlight is how many requests may be in flight; zero means 1024.
	// Further ones are refused until one is answered. Subscriptions do not
	// count once they have been acknowledged: the handler bounds those.
	MaxInFlight int

	// Grace is how long what is in flight may take when Run's context ends;
	// zero means 30 s.
	Grace time.Duration

	// OnStop is called once no more requests are taken. It ends those that would
	// not end by themselves, or Run could not return; nil is for a handler that
	// has none.
	OnStop func()
}

func (c Config) withDefaults() Config {
	c.Pool = cmp.Or(c.Pool, "default")
	c.MaxLine = cmp.Or(c.MaxLine, 4<<20)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 1024)
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	return c
}

// retryAfter is when a client may send again what was refused because too much
// is in flight: any answer makes room.
const retryAfter = time.Second

// lastWords is how long handlers have to return when the grace period is over.
const lastWords = time.Second

var (
	// errCancelled is why the context of a request ends that its client has
	// cancelled.
	errCancelled = errors.New("cancelled by the client")
	// errUnanswered is why those end that the grace period was too short for.
	errUnanswered = errors.New("requests were still in flight after the grace period")
)

// A Server answers the requests on one pair of streams.
type Server struct {
	handler  mcp.Handler
	cfg      Config
	log      *slog.Logger
	in       lineReader
	out      lineWriter
	inFlight inFlight
	calls    sync.WaitGroup
}

// New returns a server that reads requests from in, has h answer them, and
// writes the responses to out and nothing else.
func New(h mcp.Handler, in io.Reader, out io.Writer, cfg Config, log *slog.Logger) *Server {
	cfg = cfg.withDefaults()
	return &Server{
		handler:  h,
		cfg:      cfg,
		log:      log,
		in:       newLineReader(in, cfg.MaxLine),
		out:      newLineWriter(out),
		inFlight: newInFlight(cfg.MaxInFlight),
	}
}

// Run answers requests until in ends or ctx does, and returns once all requests
// in flight have been answered; it is called once. At the end of in and of ctx
// it returns nil. An error to read is returned after everything in flight has
// been answered; an error to write cancels it.
//
// The end of ctx means that no more requests are taken. Those in flight have the
// grace period; then they are cancelled, and Run returns an error.
//
// A Read that blocks when ctx ends, as on a terminal or a pipe it may for ever,
// does not hold up Run, and a Write to a client that does not read no longer than
// the grace period. The goroutine that is blocked ends when that call returns,
// which is when its owner closes the stream or the process exits; what it has read
// is dropped.
func (s *Server) Run(ctx context.Context) error {
	work, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	s.out.fail = fail

	taking, stop := context.WithCancel(ctx)
	defer stop()
	answered := make(chan error, 1)
	go func() {
		err := s.take(taking, work)
		if s.cfg.OnStop != nil {
			s.cfg.OnStop()
		}
		s.calls.Wait()
		answered <- err
	}()
	err := s.await(ctx, answered, fail)
	if work.Err() != nil {
		return context.Cause(work)
	}
	return err
}

// await returns what answered says, or, some time after the end of ctx, that it
// says nothing.
func (s *Server) await(ctx context.Context, answered <-chan error, fail context.CancelCauseFunc) error {
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-answered:
		return err
	case <-time.After(s.cfg.Grace):
		fail(errUnanswered)
	}
	select {
	case err := <-answered:
		return errors.Join(errUnanswered, err)
	case <-time.After(lastWords):
		return errUnanswered
	}
}

// take serves line after line until there are no more, or one of the contexts
// ends. Requests run in work.
func (s *Server) take(ctx, work context.Context) error {
	lines := make(chan line)
	go s.in.pump(ctx, lines)
	for {
		select {
		case l := <-lines:
			if errors.Is(l.err, io.EOF) {
				return nil
			}
			if l.err != nil && !errors.Is(l.err, errTooLong) {
				return fmt.Errorf("read a message: %w", l.err)
			}
			s.serve(work, l)
		case <-ctx.Done():
			return nil
		case <-work.Done():
			return nil
		}
	}
}

// serve takes one line.
func (s *Server) serve(work context.Context, l line) {
	if l.err != nil {
		s.refuse("", mcp.MessageTooLarge("request", s.cfg.MaxLine))
		return
	}
	req, err := mcp.ParseRequest(l.text)
	switch {
	case err != nil && !isBrokenNotification(req, err):
		s.refuse(req.ID, err)
	case !req.IsNotification():
		s.request(work, req)
	case err == nil && req.Method == mcp.NotificationCancelled:
		s.inFlight.cancel(req.Params.RequestID)
	}
}

// isBrokenNotification tells whether a message was meant to be a notification:
// those are never answered, not even when something is wrong with them.
func isBrokenNotification(req *mcp.Request, err *jsonrpc.Error) bool {
	return err.Code == jsonrpc.CodeInvalidRequest && req.IsNotification() &&
		strings.HasPrefix(req.Method, "notifications/")
}

// request starts to answer req, or refuses it at once.
func (s *Server) request(work context.Context, req *mcp.Request) {
	req.Profile, req.Pool = mcp.Strict, s.cfg.Pool
	ctx, cancel := context.WithCancelCause(work)
	if err := s.inFlight.add(req.ID, cancel); err != nil {
		cancel(nil)
		s.refuse(req.ID, err)
		return
	}
	s.calls.Go(func() { s.answer(ctx, cancel, req) })
}

// answer has the handler answer req, and sends what it says unless the request
// has been cancelled by then. A request makes room for the next one just before
// its response is written: a client that has the response must not be refused
// for lack of room, and one that does not read its responses must not get more.
func (s *Server) answer(ctx context.Context, cancel context.CancelCauseFunc, req *mcp.Request) {
	start := time.Now()
	res := s.handler.Handle(ctx, req, func(notification []byte) {
		s.out.write(func() bool { return s.notifies(ctx, req) }, notification)
	})
	s.out.write(func() bool {
		s.inFlight.remove(req.ID)
		live := ctx.Err() == nil
		cancel(nil) // a notification that comes too late finds the request over
		return live
	}, farewell(req, res)...)
	s.log.LogAttrs(ctx, slog.LevelDebug, "request answered",
		slog.Int("code", res.Code), slog.Duration("duration", time.Since(start)))
}

// notifies tells whether a request may still send notifications. That of a
// subscription, of which the first is the acknowledgement, gives its place back,
// as it may stay for ever.
func (s *Server) notifies(ctx context.Context, req *mcp.Request) bool {
	if ctx.Err() != nil {
		return false
	}
	if req.Method == mcp.MethodListen {
		s.inFlight.release(req.ID)
	}
	return true
}

// farewell is what a request ends with: its response, and in front of that of a
// subscription, which only ends like this if it is the server that ends it, word
// that the stream within the channel is over.
//
// Spec: MCP 2026-07-28, Cancellation.
func farewell(req *mcp.Request, res *mcp.Response) [][]byte {
	if req.Method == mcp.MethodListen && res.Code == 0 {
		return [][]byte{mcp.SubscriptionCancelled(req.ID), res.Body}
	}
	return [][]byte{res.Body}
}

func (s *Server) refuse(id jsonrpc.ID, err *jsonrpc.Error) {
	s.out.write(func() bool { return true }, mcp.ErrorResponse(id, err).Body)
}
