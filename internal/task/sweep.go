package task

import (
	"context"
	"log/slog"
	"time"
)

// sweep queues tasks that were stored and never queued, because the process that
// was to do that died.
func (r *Runner) sweep(ctx context.Context) {
	var since time.Time
	for wait(ctx, r.cfg.Sweep) {
		if !r.storage.TakeSweep(ctx, r.cfg.Sweep) {
			continue
		}
		began := time.Now()
		err := r.storage.Lost(ctx, since, r.cfg.Settled, func(id string) { r.requeue(ctx, id) })
		switch {
		case ctx.Err() != nil:
		case err != nil:
			r.log.WarnContext(ctx, "search for tasks that were not queued", slog.Any("error", err))
		default:
			since = began.Add(-2 * max(r.cfg.Settled, 0))
		}
	}
}

func (r *Runner) requeue(ctx context.Context, id string) {
	current, revision, err := r.read(ctx, id)
	if err != nil || current.Status.Terminal() {
		return
	}
	raw, err := current.encode()
	if err == nil {
		err = r.storage.Enqueue(ctx, current.Principal, id, wrap(raw, revision))
	}
	r.log.WarnContext(ctx, "task was not queued", slog.String("task", id), slog.Any("error", err))
}
