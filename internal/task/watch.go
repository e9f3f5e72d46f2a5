package task

import (
	"context"
	"log/slog"
	"time"
)

const (
	// messageEvery is how often a task's status message may change.
	messageEvery = time.Second
	// tickEvery is how often a runner looks after what it runs.
	tickEvery = 100 * time.Millisecond
	// checkFor bounds one look at a record.
	checkFor = time.Second
)

// lookAfter keeps what runs here from being given to others, and looks whether it
// is cancelled or has been, until ctx ends.
func (r *Runner) lookAfter(ctx context.Context) {
	beat := r.storage.AckWait() / 3
	tick := time.NewTicker(min(tickEvery, beat))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-r.poked:
			r.mu.Lock()
			run := r.active[id]
			r.mu.Unlock()
			if run != nil {
				r.check(ctx, run)
			}
		case now := <-tick.C:
			r.beat(ctx, now, beat)
		}
	}
}

// beat looks after all runs. A worker that was stopped for long first looks
// whether they are still its own.
func (r *Runner) beat(ctx context.Context, now time.Time, every time.Duration) {
	reachable := true
	for _, run := range r.runs() {
		if run.flush(ctx, now, messageEvery) {
			r.check(ctx, run)
		}
		run.mu.Lock()
		silent := now.Sub(run.beat)
		run.mu.Unlock()
		if silent < every {
			continue
		}
		if silent > r.storage.AckWait() {
			reachable = reachable && r.check(ctx, run)
		}
		r.answer(run, r.storage.Progress)
		run.mu.Lock()
		run.beat = now
		run.mu.Unlock()
		if silent <= r.storage.AckWait() {
			reachable = reachable && r.check(ctx, run)
		}
	}
}

// check looks at one record, and tells whether it could be read.
func (r *Runner) check(ctx context.Context, run *run) bool {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	if err := run.check(ctx); err != nil {
		r.log.DebugContext(ctx, "record of a task not read", slog.Any("error", err))
		return false
	}
	return true
}
