package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// wireError is the error that the client is shown for err: a *jsonrpc.Error as
// it is, anything else as an internal error, whose cause is logged here and
// nowhere else. A request that has ended has no reader and no log entry.
//
// Tools are laxer: what their functions return is for the model, see tool.fail.
func (d *Dispatcher) wireError(ctx context.Context, req *mcp.Request, err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e != nil {
		return e
	}
	if ended := mcp.EndedBy(ctx); ended != nil {
		return ended
	}
	_, logged := errors.AsType[*panicError](err)
	if !logged && ctx.Err() == nil {
		d.log.LogAttrs(ctx, slog.LevelError, "request failed", append(identity(req), slog.Any("error", err))...)
	}
	return mcp.InternalError()
}

// unknown says that there is no such tool, prompt or resource template.
//
// Spec: MCP 2026-07-28, Tools, Error Handling.
func unknown(kind, name string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown %s: %s", kind, shorten(name))
}

// asked is the *mcp.InputRequired in err, nil if there is none.
func asked(err error) *mcp.InputRequired {
	ask, _ := errors.AsType[*mcp.InputRequired](err)
	return ask
}

// askOr answers the *mcp.InputRequired in err; any other error stays what it is.
func askOr(req *mcp.Request, err error) (result, error) {
	ask := asked(err)
	if ask == nil {
		return result{}, err
	}
	question, err := ask.Result(req.Profile, req.Meta.Capabilities)
	if err != nil {
		return result{}, err
	}
	res, err := encode(question, nil)
	res.inputRequired = true
	return res, err
}

// A panicError is the panic of a tool, prompt or resource, already logged.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprint(e.value) }

// invoke calls registered code with the call that req makes, which ends before
// the response is made.
func (d *Dispatcher) invoke(
	ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc, registered func(*mcp.Call) error,
) error {
	call, err := d.open(req, notify)
	if err != nil {
		return err
	}
	err = d.guard(ctx, req, call, func() error { return registered(call) })
	return d.sealed(req, call, err)
}

// guard runs what uses call, which ends then. A panic becomes a *panicError;
// nothing else in this package recovers.
func (d *Dispatcher) guard(ctx context.Context, req *mcp.Request, call *mcp.Call, registered func() error) (err error) {
	defer call.End()
	defer func() {
		if value := recover(); value != nil {
			d.logPanic(ctx, req, value)
			err = &panicError{value}
		}
	}()
	return registered()
}

// sealed returns err with what the next round needs, if it asks for one.
func (d *Dispatcher) sealed(req *mcp.Request, call *mcp.Call, err error) error {
	if ask := asked(err); ask != nil {
		return d.suspend(req, call, ask)
	}
	return err
}

// logPanic logs where a panic happened, but only the runtime's own messages:
// other values, and the words of a printed stack, can hold arguments.
func (d *Dispatcher) logPanic(ctx context.Context, req *mcp.Request, value any) {
	reason := fmt.Sprintf("%T", value)
	if fault, ok := value.(runtime.Error); ok {
		reason = fault.Error()
	}
	d.log.LogAttrs(ctx, slog.LevelError, "handler panicked",
		append(identity(req), slog.String("panic", reason), slog.String("stack", panicStack()))...)
}

// panicStack names the innermost functions that were running when the panic
// that is being recovered began.
func panicStack() string {
	const (
		most = 12
		skip = 5 // Callers, panicStack, logPanic, guard's function, the runtime's panic
	)
	callers := make([]uintptr, most)
	frames := runtime.CallersFrames(callers[:runtime.Callers(skip, callers)])
	var stack strings.Builder
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&stack, "%s %s:%d\n", frame.Function, frame.File, frame.Line)
		if !more {
			return stack.String()
		}
	}
}

// identity says which request a log entry is about. Both values are the client's
// choice.
func identity(req *mcp.Request) []slog.Attr {
	return []slog.Attr{slog.String("request_id", shorten(string(req.ID))), slog.String("method", shorten(req.Method))}
}

// maxShown is the most bytes that are shown of what a client or tool made.
const maxShown = 128

// shorten bounds what is quoted or logged.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
