package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Tasks is what tool calls become that take long. An error that is a
// *jsonrpc.Error is for the client; a task that does not exist, or belongs to
// another principal, is one. The methods may be called concurrently.
type Tasks interface {
	// Create returns a task that runs w, once every process finds it.
	Create(ctx context.Context, w *mcp.TaskWork) (mcp.Task, error)
	// Adopt makes a task of a call that is running, unless it returns an error.
	// end ends the context of the call.
	Adopt(ctx context.Context, w *mcp.TaskWork, end context.CancelCauseFunc) (mcp.AdoptedTask, error)
	Get(ctx context.Context, principal, id string) (mcp.Task, error)
	Update(ctx context.Context, principal, id string, answers mcp.InputResponses) error
	Cancel(ctx context.Context, principal, id string) error
}

// addTasks adds the methods of tasks, where a tool may become one. Others may
// have created the tasks: workers of a pool need not have the same tools.
func (d *Dispatcher) addTasks() {
	if d.tasks == nil || len(d.tools) == 0 {
		return
	}
	d.strict[mcp.MethodTasksGet] = d.aboutTask(d.getTask)
	d.strict[mcp.MethodTasksUpdate] = d.aboutTask(d.updateTask)
	d.strict[mcp.MethodTasksCancel] = d.aboutTask(d.cancelTask)
}

// withoutTasks takes away the tools that only run as tasks, since there are none.
func (c *catalogue) withoutTasks(log *slog.Logger) {
	c.tools = slices.DeleteFunc(c.tools, func(t *tool) bool {
		required := t.Task.Mode == mcp.TaskRequired
		if required {
			log.Warn("tool not served: it only runs as a task, for which there is no JetStream", slog.String("tool", t.Name))
		}
		return required
	})
}

// checkPolicy says what is wrong with how a tool becomes a task.
func checkPolicy(p mcp.TaskPolicy) error {
	switch {
	case p.Mode < mcp.TaskNever || p.Mode > mcp.TaskRequired:
		return fmt.Errorf("its task mode %d does not exist", p.Mode)
	case p.After < 0, p.After > 0 && p.Mode == mcp.TaskNever:
		return fmt.Errorf("it becomes a task after %s, but never may", p.After)
	}
	return nil
}

// aboutTask is the method that f answers for a task. What the client supports
// comes first.
//
// Spec: Tasks extension, Protocol Errors.
func (d *Dispatcher) aboutTask(f func(ctx context.Context, req *mcp.Request, id string) (result, error)) method {
	return func(ctx context.Context, req *mcp.Request, _ mcp.NotifyFunc) (result, error) {
		if !req.Meta.Capabilities.Tasks {
			return result{}, mcp.MissingTasks()
		}
		id, ok := req.Target()
		if !ok {
			return result{}, mcp.InvalidParams("taskId must be the id of a task")
		}
		return f(ctx, req, id)
	}
}

func (d *Dispatcher) getTask(ctx context.Context, req *mcp.Request, id string) (result, error) {
	t, err := d.tasks.Get(ctx, req.Principal, id)
	if err != nil {
		return result{}, err
	}
	return encode(t, nil)
}

func (d *Dispatcher) updateTask(ctx context.Context, req *mcp.Request, id string) (result, error) {
	answers, refusal := mcp.ParseInputResponses(req.Params.InputResponses)
	if refusal != nil {
		return result{}, refusal
	}
	if answers == nil {
		return result{}, mcp.InvalidParams("inputResponses must be an object")
	}
	return acknowledged(d.tasks.Update(ctx, req.Principal, id, answers))
}

func (d *Dispatcher) cancelTask(ctx context.Context, req *mcp.Request, id string) (result, error) {
	return acknowledged(d.tasks.Cancel(ctx, req.Principal, id))
}

// acknowledged is a result that says no more than that it was done.
func acknowledged(err error) (result, error) { return result{object: []byte("{}")}, err }

// knownTasks are those of ids that exist for principal.
func (d *Dispatcher) knownTasks(ctx context.Context, principal string, ids []string) (known []string, err error) {
	for _, id := range ids {
		_, err := d.tasks.Get(ctx, principal, id)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeInvalidParams {
			continue
		}
		if err != nil {
			return nil, err
		}
		known = append(known, id)
	}
	return known, nil
}

// becomes tells whether a call may become a task, or that it only could, which
// its client does not support.
//
// Spec: Tasks extension, Capability Negotiation.
func (d *Dispatcher) becomes(req *mcp.Request, t *tool) (bool, *jsonrpc.Error) {
	if d.tasks == nil || t.Task.Mode == mcp.TaskNever {
		return false, nil
	}
	supported := req.Profile == mcp.Strict && req.Meta.Capabilities.Tasks
	if !supported && t.Task.Mode == mcp.TaskRequired {
		return false, mcp.MissingTasks()
	}
	return supported, nil
}

// createTask answers a call with a task that has yet to run. What is wrong with
// its arguments is answered at once.
func (d *Dispatcher) createTask(ctx context.Context, req *mcp.Request, t *tool, call *mcp.ToolCall) (result, error) {
	defer call.End()
	complaint, mismatch := t.check(req, call)
	switch {
	case mismatch != nil:
		return result{}, mismatch
	case complaint != "":
		return failure(complaint).result(req.Profile)
	}
	task, err := d.tasks.Create(ctx, t.work(call))
	if err != nil {
		return result{}, err
	}
	return handle(task)
}

// work is what it takes to run the call elsewhere.
func (t *tool) work(call *mcp.ToolCall) *mcp.TaskWork {
	return &mcp.TaskWork{
		Tool: t.Name, Arguments: call.Arguments, Principal: call.Principal, Capabilities: call.Capabilities,
		Answers: call.InputResponses, State: call.RequestState, Idempotent: t.repeatable(),
	}
}

// handle is the result that tells of a new task.
func handle(task mcp.Task) (result, error) {
	res, err := encode(task, nil)
	res.task = true
	return res, err
}

// callFor answers with the result of a call if it comes soon enough, and else
// with the task that the call becomes, while it goes on.
func (d *Dispatcher) callFor(ctx context.Context, req *mcp.Request, t *tool, call *mcp.ToolCall) (result, error) {
	req, call = detached(req, call)
	late := &lateCall{done: make(chan struct{})}
	late.ctx, late.end = context.WithCancelCause(context.WithoutCancel(ctx))
	endLate := func() { late.end(context.Cause(ctx)) }
	stop := context.AfterFunc(ctx, endLate)
	go func() { // who waits for it is below, or the tasks
		defer close(late.done)
		late.out, late.err = d.runTool(late.ctx, req, t, call)
	}()
	select {
	case <-late.done:
	case <-time.After(t.Task.After):
		if !stop() {
			break
		}
		if adopted, err := d.tasks.Adopt(ctx, t.work(call), late.end); err == nil {
			call.Detach(adopted.Report)
			go func() {
				<-late.done
				adopted.Finish(d.outcome(late.ctx, req, call.Call, late.out, late.err), context.Cause(late.ctx))
				late.end(nil)
			}()
			return handle(adopted.Task)
		}
		stop = context.AfterFunc(ctx, endLate)
	}
	<-late.done
	stop()
	late.end(nil)
	return d.answer(req, call.Call, late.out, late.err)
}

// A lateCall is a call that may become a task.
type lateCall struct {
	ctx  context.Context //nolint:containedctx // of the call, which may outlive its request
	end  context.CancelCauseFunc
	done chan struct{} // closed when there is what follows
	out  output
	err  error
}

// detached returns copies that do not use the memory of the request.
func detached(req *mcp.Request, call *mcp.ToolCall) (*mcp.Request, *mcp.ToolCall) {
	call.Arguments = slices.Clone(call.Arguments)
	answers := make(mcp.InputResponses, len(call.InputResponses))
	for id, answer := range call.InputResponses {
		answers[id] = slices.Clone(answer)
	}
	call.InputResponses = answers
	return req.Clone(), call
}

// Serves tells whether there is a tool of that name.
func (d *Dispatcher) Serves(tool string) bool {
	_, ok := d.tools[tool]
	return ok
}

// RunTask runs the call of a task. report takes its progress.
func (d *Dispatcher) RunTask(ctx context.Context, w *mcp.TaskWork, report func(message string)) mcp.TaskOutcome {
	req := &mcp.Request{Request: jsonrpc.Request{Method: mcp.MethodToolsCall}} // of which the log tells
	t, ok := d.tools[w.Tool]
	if !ok {
		_, err := unknownTool(mcp.Strict, w.Tool)
		return mcp.TaskOutcome{Err: d.wireError(ctx, req, err)}
	}
	call := mcp.NewTaskCall(w, report, d.events)
	out, err := d.runTool(ctx, req, t, &mcp.ToolCall{Call: call, Arguments: w.Arguments})
	return d.outcome(ctx, req, call, out, err)
}

// outcome is what becomes of a task whose handler has returned.
func (d *Dispatcher) outcome(ctx context.Context, req *mcp.Request, call *mcp.Call, out output, err error) mcp.TaskOutcome {
	if ask := asked(err); ask != nil {
		return d.question(ctx, req, call, ask)
	}
	var res result
	if err == nil {
		res, err = out.result(mcp.Strict)
	}
	if err != nil {
		return mcp.TaskOutcome{Err: d.wireError(ctx, req, err)}
	}
	return mcp.TaskOutcome{Result: slices.Concat(d.stamp.complete, res.object[1:]), IsError: out.IsError}
}

// question is the outcome of a run that asks the client for input.
func (d *Dispatcher) question(ctx context.Context, req *mcp.Request, call *mcp.Call, ask *mcp.InputRequired) mcp.TaskOutcome {
	requests, err := ask.Encoded(call.Capabilities)
	if err != nil {
		return mcp.TaskOutcome{Err: d.wireError(ctx, req, err)}
	}
	answered := call.Answered()
	maps.DeleteFunc(answered, func(id string, _ jsontext.Value) bool { _, again := requests[id]; return again })
	return mcp.TaskOutcome{Ask: requests, Answered: answered, State: ask.State}
}
