package task

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// deadlineMargin is left of a task's time to say that it is over.
const deadlineMargin = 2 * time.Second

// execute runs the call of a task that this worker has begun.
func (r *Runner) execute(ctx context.Context, run *run, begun *record) {
	ctx, stop := context.WithDeadlineCause(ctx, begun.Expires.Add(-deadlineMargin), mcp.DeadlineExceeded(true))
	defer stop()
	work := *begun.Work
	out := r.exec.RunTask(ctx, &work, run.report)
	r.finish(run, &out, context.Cause(ctx))
}

// finish writes how a run has ended, and then answers its messages.
func (r *Runner) finish(run *run, out *mcp.TaskOutcome, cause error) {
	asks := out.Err == nil && out.Result == nil
	parked := ""
	if asks {
		parked = r.park(run)
	}
	conclude := func(next *record) { next.conclude(out, cause, parked, r.cfg.Now(), r.cfg.Retention) }
	err := run.change(r.life, conclude)
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok { // too large for a record
		out = &mcp.TaskOutcome{Err: refused}
		err = run.change(r.life, conclude)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.answer(run, r.storage.Ack)
	case err != nil:
		r.log.Warn("the end of a task is not written", slog.Any("error", err))
	case run.record.Status.Terminal():
		r.answer(run, r.storage.Ack)
	case run.record.Status == mcp.TaskWorking: // released, or it asked for nothing
		r.answer(run, func(ack string) { r.storage.Nak(ack, r.againAfter(asks)) })
	}
}

func (r *Runner) againAfter(asks bool) time.Duration {
	if asks {
		return laterPause
	}
	return 0
}

// ErrNoRoom says that a call cannot become a task now.
var ErrNoRoom = errors.New("no slot is free for a task")

// Adopt makes a task of a call that runs already, here. cancel ends the call's
// context. The error says that it stays a call.
func (r *Runner) Adopt(ctx context.Context, w *mcp.TaskWork, cancel context.CancelCauseFunc) (mcp.AdoptedTask, error) {
	if !r.enter(true) {
		return mcp.AdoptedTask{}, ErrNoRoom
	}
	rec := newRecord(w, r.cfg.Now(), r.cfg.TTL)
	rec.begin(r.cfg.Worker)
	run := r.register(rec.ID, "", cancel)
	run.writing.Lock()
	defer run.writing.Unlock()
	revision, err := r.add(ctx, rec)
	if err != nil {
		r.unregister(run)
		r.leave()
		return mcp.AdoptedTask{}, err
	}
	run.record, run.revision = rec, revision
	deadline := time.AfterFunc(time.Until(rec.Expires.Add(-deadlineMargin)), func() { cancel(mcp.DeadlineExceeded(true)) })
	return mcp.AdoptedTask{
		Task:   rec.view(r.cfg.Now()),
		Report: run.report,
		Finish: func(out mcp.TaskOutcome, cause error) {
			defer r.leave()
			defer r.unregister(run)
			deadline.Stop()
			r.finish(run, &out, cause)
		},
	}, nil
}
