package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// lastWords is how long a handler has to return when its worker stops.
const lastWords = time.Second

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
