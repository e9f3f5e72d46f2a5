package task

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// errLost says that the task is another worker's.
var errLost = errors.New("another worker has the task")

// errCancelled is why the context of a cancelled task has ended.
var errCancelled = errors.New("the task has been cancelled")

// A run is a task that this worker works on.
type run struct {
	id      string
	service *Service
	worker  string
	end     context.CancelCauseFunc // ends the handler's context

	mu       sync.Mutex // guards what follows
	acks     []string   // where its messages are answered; there may be several
	lost     bool
	message  string    // the handler's latest progress
	reported string    // what of it is in the record
	flushed  time.Time // when
	beat     time.Time // when its messages were last kept from being delivered

	writing  sync.Mutex // held while the record is written; guards what follows
	record   *record    // as last written or read; nil until the task is begun
	revision uint64
}

// attach has the run answer for one more message.
func (r *run) attach(ack string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		return false
	}
	if ack != "" && !slices.Contains(r.acks, ack) {
		r.acks = append(r.acks, ack)
	}
	return true
}

// messages are where its messages are answered; none if they are no more its own.
func (r *run) messages() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		return nil
	}
	return slices.Clone(r.acks)
}

// lose ends a run whose task is another worker's.
func (r *run) lose() {
	r.mu.Lock()
	r.lost = true
	r.mu.Unlock()
	r.end(errLost)
}

// report takes the handler's progress, which is written later.
func (r *run) report(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.message = message
}

// change writes a change of the record, on the state that it has, until that is
// done or it is known that it never can be: errLost, fs.ErrNotExist, or an error
// for the client. f may be called several times.
func (r *run) change(ctx context.Context, f func(*record)) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	fence := r.record.Fence
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		next := r.record.clone()
		f(next)
		revision, err := r.service.write(ctx, next, r.revision)
		if err == nil {
			r.record, r.revision = next, revision
			r.service.cfg.Events(mcp.TaskChanged(r.id))
			return nil
		}
		if _, refused := errors.AsType[*jsonrpc.Error](err); refused {
			return err
		}
		if !errors.Is(err, fs.ErrExist) && !wait(ctx, pause) {
			return err
		}
		if err := r.catchUp(ctx, fence, next); err != nil {
			if errors.Is(err, errWritten) {
				return nil
			}
			return err
		}
	}
}

// errWritten says that what could not be proven to be written has been.
var errWritten = errors.New("it has been written")

// catchUp reads the record again after a write that failed, or may have. wrote is
// what was to be written.
func (r *run) catchUp(ctx context.Context, fence int, wrote *record) error {
	current, revision, err := r.service.readSurely(ctx, r.id)
	if err != nil {
		return err
	}
	if current.Fence == fence && current.Status == wrote.Status && current.Owner == wrote.Owner && current.Updated.Equal(wrote.Updated) {
		r.record, r.revision = current, revision
		return errWritten
	}
	if !current.heldBy(r.worker, fence) {
		r.lose()
		return errLost
	}
	r.record, r.revision = current, revision
	return nil
}

// check reads the record, and ends the run if it is cancelled or another's.
func (r *run) check(ctx context.Context) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.record == nil || !r.record.heldBy(r.worker, r.record.Fence) {
		return nil
	}
	current, revision, err := r.service.read(ctx, r.id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.lose()
		return nil
	case err != nil:
		return err
	case !current.heldBy(r.worker, r.record.Fence):
		r.lose()
		return nil
	}
	r.record, r.revision = current, revision
	if current.Cancelling {
		r.end(errCancelled)
	}
	return nil
}

// flush writes the handler's latest progress, if there is any that is due. It
// tells whether it found that the record is not as it was.
func (r *run) flush(ctx context.Context, now time.Time, every time.Duration) (stale bool) {
	r.mu.Lock()
	message := r.message
	due := message != r.reported && now.Sub(r.flushed) >= every
	r.mu.Unlock()
	if !due || !r.writing.TryLock() {
		return false
	}
	defer r.writing.Unlock()
	if r.record == nil || !r.record.heldBy(r.worker, r.record.Fence) {
		return false
	}
	next := r.record.clone()
	next.Message = message
	revision, err := r.service.write(ctx, next, r.revision)
	if err != nil {
		return errors.Is(err, fs.ErrExist)
	}
	r.record, r.revision = next, revision
	r.service.cfg.Events(mcp.TaskChanged(r.id))
	r.mu.Lock()
	r.reported, r.flushed = message, now
	r.mu.Unlock()
	return false
}

const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// wait tells whether ctx lasts that long.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// readSurely reads a record, however long that takes. It is an error that there
// is none, or that ctx ends.
func (s *Service) readSurely(ctx context.Context, id string) (*record, uint64, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		r, revision, err := s.read(ctx, id)
		if err == nil || errors.Is(err, fs.ErrNotExist) || !wait(ctx, pause) {
			return r, revision, err
		}
	}
}

// conclude changes r as out and the end of the run's context say.
func (r *record) conclude(out *mcp.TaskOutcome, cause error, parked string, now time.Time, retention time.Duration) {
	stopped, _ := errors.AsType[*jsonrpc.Error](cause)
	switch {
	case r.Cancelling && (out.Result == nil || out.IsError):
		r.end(mcp.TaskCancelled, now, retention)
	case out.Err != nil && out.Err == stopped && stopped.Code == mcp.CodeOutcomeUnknown && r.Work.Idempotent:
		r.release()
	case out.Err != nil:
		r.fail(out.Err, now, retention)
	case out.Result != nil:
		r.complete(out.Result, now, retention)
	default:
		r.ask(out, parked)
	}
}
