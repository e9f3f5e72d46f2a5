package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// maxLost is how many workers may be lost over a task before it is given up:
	// it may be what kills them.
	maxLost = 5
	// laterPause is when a message is tried again that this worker could do
	// nothing about.
	laterPause = time.Second
)

// receive takes a message of the queue. It does not wait.
func (r *Runner) receive(body []byte, ack string) {
	if !r.enter(false) {
		r.storage.Nak(ack, 0)
		return
	}
	go func() { // counted by occupied, for which drain waits
		defer r.leave()
		m, err := unwrap(body)
		if err != nil {
			r.log.Error("message in the queue of tasks cannot be read", slog.Any("error", err))
			r.storage.Ack(ack)
			return
		}
		ctx, cancel := context.WithCancelCause(r.life)
		defer cancel(nil)
		if run := r.register(m.record.ID, ack, cancel); run != nil {
			defer r.unregister(run)
			r.work(ctx, run, m)
		}
	}()
}

// work does what the record of a task asks for.
func (r *Runner) work(ctx context.Context, run *run, m message) {
	current, revision, ownerLost := m.record, m.Revision, false
	for {
		next := current.clone()
		step := r.decide(next, ownerLost)
		var err error
		switch step {
		case stepAck:
			r.answer(run, r.storage.Ack)
			return
		case stepLater:
			r.answer(run, func(ack string) { r.storage.Nak(ack, laterPause) })
			return
		case stepAsk:
			if r.handedOver(ctx, run, current) {
				return
			}
			// What the owner has done until now is what counts.
			ownerLost, err = true, fs.ErrExist
		case stepPark:
			known := next.Parked != ""
			if next.Parked = r.park(run); known {
				return
			}
			fallthrough
		default:
			revision, err = r.write(context.WithoutCancel(ctx), next, revision)
		}
		if err == nil {
			r.proceed(ctx, run, step, next, revision)
			return
		}
		owner, fence := current.Owner, current.Fence
		if current, revision, err = r.readSurely(ctx, run.id); err != nil {
			r.unreadable(run, err)
			return
		}
		if step == stepBegin && current.heldBy(r.cfg.Worker, next.Fence) { // it was written after all
			r.proceed(ctx, run, step, current, revision)
			return
		}
		ownerLost = ownerLost && current.Owner == owner && current.Fence == fence
	}
}

// unreadable gives a message back, or away if its task is gone.
func (r *Runner) unreadable(run *run, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		r.answer(run, r.storage.Ack)
		return
	}
	r.answer(run, func(ack string) { r.storage.Nak(ack, laterPause) })
}

// proceed goes on when the record says what step wanted.
func (r *Runner) proceed(ctx context.Context, run *run, step step, current *record, revision uint64) {
	switch step {
	case stepBegin:
		run.writing.Lock()
		run.record, run.revision = current, revision
		run.writing.Unlock()
		r.execute(ctx, run, current)
	case stepEnd:
		r.cfg.Events(mcp.TaskChanged(run.id))
		r.answer(run, r.storage.Ack)
	case stepPark: // put aside before it was written
	}
}

// answer answers all messages of a run.
func (r *Runner) answer(run *run, how func(ack string)) {
	for _, ack := range run.messages() {
		how(ack)
	}
}

// park puts the message of a task aside that waits for its client, and returns
// where it is to be called back. This comes before the record says that the task
// waits, so that the client's answer cannot be overtaken by it.
func (r *Runner) park(run *run) (parked string) {
	for i, ack := range run.messages() {
		if i > 0 {
			r.storage.Ack(ack)
			continue
		}
		parked = ack
		r.storage.Nak(ack, r.cfg.Parked)
	}
	return parked
}

// A step is what is to be done about a message.
type step int

const (
	stepAck   step = iota // nothing: the task has ended
	stepLater             // nothing now
	stepAsk               // ask the owner whether it lives
	stepPark              // put it aside: the task waits for its client
	stepEnd               // the task ends without being run
	stepBegin             // run it
)

// decide looks at a record whose message came here, and changes it for the step
// that it returns.
func (r *Runner) decide(next *record, ownerLost bool) step {
	owned := next.Owner != ""
	switch {
	case next.Status.Terminal(), next.Expires.Before(r.cfg.Now()):
		return stepAck
	case next.Status == mcp.TaskInputRequired:
		return stepPark
	case owned && next.Owner != r.cfg.Worker && !ownerLost:
		return stepAsk
	case next.Cancelling:
		next.end(mcp.TaskCancelled, r.cfg.Now(), r.cfg.Retention)
		return stepEnd
	case owned && !next.Work.Idempotent:
		next.fail(mcp.OutcomeUnknown("the worker that ran the task was lost"), r.cfg.Now(), r.cfg.Retention)
		return stepEnd
	case owned && next.Lost+1 >= maxLost:
		next.fail(mcp.OutcomeUnknown(fmt.Sprintf("%d workers that ran the task were lost", maxLost)), r.cfg.Now(), r.cfg.Retention)
		return stepEnd
	case !r.exec.Serves(next.Work.Tool): // another worker may, if this is a deployment
		return stepLater
	}
	if owned {
		next.Lost++
	}
	next.begin(r.cfg.Worker)
	return stepBegin
}

// handedOver tells whether the owner of a task lives and answers for its message
// from now on. It takes its time to find that the owner does not.
func (r *Runner) handedOver(ctx context.Context, run *run, current *record) bool {
	acks := run.messages()
	if len(acks) == 0 {
		return true
	}
	for end := time.Now().Add(r.cfg.Settle); ; {
		holds, err := r.storage.Holds(ctx, current.Owner, run.id, acks[0])
		if err == nil {
			return holds
		}
		if time.Now().After(end) {
			r.log.WarnContext(ctx, "the worker that runs a task is lost", slog.String("owner", current.Owner), slog.Any("error", err))
			return false
		}
		if !wait(ctx, min(r.cfg.Settle/10, time.Second)) {
			return true // and the message comes again
		}
	}
}
