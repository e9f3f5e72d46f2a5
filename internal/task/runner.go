package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// maxLost is how many workers may be lost over a task before it is given up:
	// it may be what kills them.
	maxLost = 5
	// laterPause is when a message is tried again that this worker could do
	// nothing about.
	laterPause = time.Second
	// messageEvery is how often a task's status message may change.
	messageEvery = time.Second
	// tickEvery is how often a runner looks after what it runs.
	tickEvery = 100 * time.Millisecond
	// checkFor bounds one look at a record.
	checkFor = time.Second
	// deadlineMargin is left of a task's time to say that it is over.
	deadlineMargin = 2 * time.Second
	// lastWords is how long a handler has to return when its worker stops.
	lastWords = time.Second
)

// An Executor runs the calls of tasks.
type Executor interface {
	// Serves tells whether there is a tool of that name here.
	Serves(tool string) bool
	// RunTask runs a call until its end, which comes soon after that of ctx.
	// report takes its progress.
	RunTask(ctx context.Context, w *mcp.TaskWork, report func(message string)) mcp.TaskOutcome
}

// A Runner runs the tasks of a pool on one worker: it takes them from the queue
// when it has room, and keeps them its own until they have ended. It is also what
// calls become tasks with that are already running.
type Runner struct {
	*Service
	exec Executor // set by Run

	freed chan struct{} // capacity 1: there is more room
	poked chan string   // ids of tasks whose records should be looked at

	mu       sync.Mutex // guards what follows
	active   map[string]*run
	occupied int
	draining bool
	closed   bool
	idle     chan struct{} // closed when draining and nothing is occupied

	life context.Context //nolint:containedctx // of what outlives both requests and the taking of tasks
	die  context.CancelFunc
}

// NewRunner returns a runner for the tasks of s. It takes none before Run.
func NewRunner(s *Service) *Runner {
	life, die := context.WithCancel(context.Background())
	return &Runner{
		life: life, die: die,
		Service: s,
		freed:   make(chan struct{}, 1),
		poked:   make(chan string, 1024),
		active:  make(map[string]*run),
		idle:    make(chan struct{}),
	}
}

// Run runs tasks until ctx ends, and then lets those that it has begun end within
// the grace period. Those that have not then are cancelled: they fail with
// -31004, or are given to other workers if they may be run again. It may be called
// once.
func (r *Runner) Run(ctx context.Context, exec Executor) error {
	r.exec = exec
	stopAnswering, err := r.storage.Answer(r.cfg.Worker, r.takeOver, r.poke)
	if err != nil {
		return err
	}
	defer stopAnswering()
	var parts sync.WaitGroup
	defer parts.Wait()
	defer r.die()
	parts.Go(func() { r.lookAfter(r.life) })
	parts.Go(func() { r.sweep(ctx) })
	err = r.storage.Pull(ctx, r.room, r.freed, r.receive)
	return errors.Join(err, r.drain(err != nil))
}

// drain returns when nothing runs any more, or an error if handlers do not return.
func (r *Runner) drain(atOnce bool) error {
	r.mu.Lock()
	r.draining = true
	if r.occupied == 0 {
		r.close()
	}
	r.mu.Unlock()
	if !atOnce {
		select {
		case <-r.idle:
			return nil
		case <-time.After(r.cfg.Grace):
		}
	}
	for _, run := range r.runs() {
		run.end(mcp.OutcomeUnknown("the worker had to stop"))
	}
	select {
	case <-r.idle:
		return nil
	case <-time.After(lastWords):
		return fmt.Errorf("%d tasks ignored the end of their context and were left behind", len(r.runs()))
	}
}

// close says that nothing runs any more. r.mu is held.
func (r *Runner) close() {
	if !r.closed {
		r.closed = true
		close(r.idle)
	}
}

// room is how many tasks more there are slots for.
func (r *Runner) room() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg.Slots - r.occupied
}

// enter takes a slot. limited says that there may be none.
func (r *Runner) enter(limited bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining || limited && r.occupied >= r.cfg.Slots {
		return false
	}
	r.occupied++
	r.cfg.Occupy()
	return true
}

func (r *Runner) leave() {
	r.cfg.Vacate()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.occupied--
	if r.draining && r.occupied == 0 {
		r.close()
	}
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// register returns a new run of a task, or nil if there is one that has taken the
// message.
func (r *Runner) register(id, ack string, end context.CancelCauseFunc) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if running := r.active[id]; running != nil && running.attach(ack) {
		return nil
	}
	run := &run{id: id, service: r.Service, worker: r.cfg.Worker, end: end, beat: time.Now()}
	run.attach(ack)
	r.active[id] = run
	return run
}

func (r *Runner) unregister(run *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active[run.id] == run { // it may have been lost, and begun again
		delete(r.active, run.id)
	}
}

func (r *Runner) runs() []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := make([]*run, 0, len(r.active))
	for _, run := range r.active {
		runs = append(runs, run)
	}
	return runs
}

// takeOver answers another worker, which has got the message of a task that may
// be running here.
func (r *Runner) takeOver(id, ack string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.active[id]
	return run != nil && run.attach(ack)
}

// poke has the record of a task looked at soon, if the task runs here.
func (r *Runner) poke(id string) bool {
	r.mu.Lock()
	_, ok := r.active[id]
	r.mu.Unlock()
	if ok {
		select {
		case r.poked <- id:
		default: // the next look at all of them will do
		}
	}
	return ok
}

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
