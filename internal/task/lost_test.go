package task_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/task"
)

// A freezer is the storage of a worker that can be stopped, as SIGSTOP does, and
// go on. While it is frozen nothing that it does reaches anybody.
type freezer struct {
	task.Storage
	frozen atomic.Bool
	thaw   chan struct{}
	acked  atomic.Int32 // messages acknowledged
}

func newFreezer(s task.Storage) *freezer { return &freezer{Storage: s, thaw: make(chan struct{})} }

func (f *freezer) wait() {
	if f.frozen.Load() {
		<-f.thaw
	}
}

func (f *freezer) melt() {
	f.frozen.Store(false)
	close(f.thaw)
}

func (f *freezer) Write(ctx context.Context, id string, record []byte, revision uint64, live bool, ttl time.Duration) (uint64, error) {
	f.wait()
	return f.Storage.Write(ctx, id, record, revision, live, ttl)
}

func (f *freezer) Read(ctx context.Context, id string) ([]byte, uint64, error) {
	f.wait()
	return f.Storage.Read(ctx, id)
}

func (f *freezer) Progress(ack string) {
	f.wait()
	f.Storage.Progress(ack)
}

func (f *freezer) Ack(ack string) {
	f.wait()
	f.acked.Add(1)
	f.Storage.Ack(ack)
}

func (f *freezer) Answer(worker string, holds func(id, ack string) bool, cancelled func(id string) bool) (func(), error) {
	return f.Storage.Answer(worker, func(id, ack string) bool {
		f.wait()
		return holds(id, ack)
	}, cancelled)
}

// A worker that was frozen for longer than others wait for it changes nothing of
// a task that another has finished, and answers for none of its messages.
func TestStaleWorker(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	frozen := newFreezer(p.storage(t))
	started, proceed, returned := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	stale := p.workerOn(t, frozen, tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
		started <- struct{}{}
		<-proceed
		close(returned)
		return done("stale")
	}})
	id := create(t, s, idempotent("x"))
	receive(t, started)
	frozen.frozen.Store(true)

	p.worker(t, tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome { return done("fresh") }})
	finished := becomes(t, s, id, mcp.TaskCompleted)
	assert.JSONEq(t, `{"text":"fresh"}`, string(finished.Result))

	frozen.melt()
	close(proceed)
	receive(t, returned)
	require.NoError(t, stale.stop(), "which waits for what it runs")
	assert.Equal(t, finished, get(t, s, id))
	assert.Zero(t, frozen.acked.Load())
}

// vanish makes a worker begin a task and be gone.
func (p *pool) vanish(t *testing.T, s *task.Service, w *mcp.TaskWork) (id string) {
	t.Helper()
	frozen := newFreezer(p.storage(t))
	started := make(chan struct{}, 1)
	p.workerOn(t, frozen, tools{w.Tool: func(ctx context.Context, _ *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
		started <- struct{}{}
		return ended(ctx)
	}}, func(cfg *task.Config) { cfg.Grace = time.Millisecond })
	t.Cleanup(frozen.melt)
	id = create(t, s, w)
	receive(t, started)
	frozen.frozen.Store(true)
	return id
}

// What a lost worker had begun runs again only if that does no harm.
func TestLostWorker(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	id := p.vanish(t, s, work("x"))
	ran := make(chan struct{}, 8)
	p.worker(t, tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
		ran <- struct{}{}
		return done("again")
	}})
	failed := becomes(t, s, id, mcp.TaskFailed)
	assert.Equal(t, mcp.CodeOutcomeUnknown, failed.Error.Code)
	assert.Equal(t, map[string]any{"retryable": false}, failed.Error.Data)
	assert.Empty(t, ran)
}

func TestLostWorkerOfACancelledTask(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	id := p.vanish(t, s, idempotent("x"))
	require.NoError(t, s.Cancel(t.Context(), "ada", id))
	p.worker(t, tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
		assert.Fail(t, "it runs")
		return done("again")
	}})
	becomes(t, s, id, mcp.TaskCancelled)
}

// A task over which one worker after the other is lost is given up.
func TestTaskThatKillsItsWorkers(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	id := p.vanish(t, s, idempotent("x"))
	started := make(chan struct{}, 8)
	for range 5 {
		frozen := newFreezer(p.storage(t))
		p.workerOn(t, frozen, tools{"x": func(ctx context.Context, _ *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
			frozen.frozen.Store(true)
			started <- struct{}{}
			return ended(ctx)
		}}, func(cfg *task.Config) { cfg.Grace = time.Millisecond })
		t.Cleanup(frozen.melt)
	}
	assert.Equal(t, mcp.CodeOutcomeUnknown, becomes(t, s, id, mcp.TaskFailed).Error.Code)
	assert.Len(t, started, 4, "after the first one")
}

// A worker that lives but could not say so keeps its task.
func TestOwnerThatLivesKeepsItsTask(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	silent := &silence{Storage: p.storage(t)}
	started, proceed := make(chan struct{}, 2), make(chan struct{})
	exec := tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
		started <- struct{}{}
		<-proceed
		return done("first")
	}}
	p.workerOn(t, silent, exec)
	id := create(t, s, work("x"))
	receive(t, started)
	asked := &asking{Storage: p.storage(t), holds: make(chan bool, 64)}
	p.workerOn(t, asked, exec)
	assert.True(t, receive(t, asked.holds), "it has been asked, and has the message now")
	close(proceed)
	becomes(t, s, id, mcp.TaskCompleted)
	assert.Empty(t, started, "it was started once")
}

// silence is the storage of a worker whose signs of life get lost.
type silence struct{ task.Storage }

func (silence) Progress(string) {}

// asking tells what other workers answer.
type asking struct {
	task.Storage
	holds chan bool
}

func (a *asking) Holds(ctx context.Context, worker, id, ack string) (bool, error) {
	holds, err := a.Storage.Holds(ctx, worker, id, ack)
	select {
	case a.holds <- holds:
	default:
	}
	return holds, err
}

// What was stored and never queued, because the process died in between, is found.
func TestSweep(t *testing.T) {
	p := newPool(t)
	dying := task.NewService(unqueued{p.storage(t)}, p.config(), bustest.Log(t))
	id := create(t, dying, work("x"))
	queued := create(t, p.service(t), work("y"))
	lost := func(settled time.Duration) (ids []string) {
		require.NoError(t, p.storage(t).Lost(t.Context(), time.Time{}, settled, func(id string) { ids = append(ids, id) }))
		return ids
	}
	assert.Empty(t, lost(time.Minute), "it may just be about to be queued")
	assert.Equal(t, []string{id}, lost(-time.Minute))

	p.worker(t, tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome { return done("swept") }},
		func(cfg *task.Config) { cfg.Sweep, cfg.Settled = 1100*time.Millisecond, -time.Minute })
	becomes(t, p.service(t), id, mcp.TaskCompleted)
	assert.Equal(t, mcp.TaskWorking, get(t, p.service(t), queued).Status)
}

// unqueued is the storage of a process that dies before it queues anything.
type unqueued struct{ task.Storage }

func (unqueued) Enqueue(context.Context, string, string, []byte) error { return nil }

// A write whose answer is lost is not made twice, and counts.
func TestWritesWhoseAnswersAreLost(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	var runs atomic.Int32
	deaf := &deaf{Storage: p.storage(t)}
	p.workerOn(t, deaf, tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
		runs.Add(1)
		return done("ok")
	}})
	id := create(t, s, work("x"))
	becomes(t, s, id, mcp.TaskCompleted)
	storage := p.storage(t)
	require.Eventually(t, func() bool { n, err := storage.Queued(t.Context()); return err == nil && n == 0 }, bustest.Patience, time.Millisecond)
	assert.EqualValues(t, 1, runs.Load())
	assert.EqualValues(t, 2, deaf.writes.Load())
}

// deaf does not hear that its writes were done.
type deaf struct {
	task.Storage
	writes atomic.Int32
}

func (d *deaf) Write(ctx context.Context, id string, record []byte, revision uint64, live bool, ttl time.Duration) (uint64, error) {
	_, err := d.Storage.Write(ctx, id, record, revision, live, ttl)
	if err == nil {
		d.writes.Add(1)
		err = errors.New("no answer")
	}
	return 0, err
}

// A call that runs already becomes a task without being started again, although
// its message comes to any worker.
func TestAdopt(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	never := tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
		assert.Fail(t, "it is started")
		return done("twice")
	}}
	p.worker(t, never)
	w := p.worker(t, never, func(cfg *task.Config) { cfg.Slots = 1 })
	ctx, cancel := context.WithCancelCause(t.Context())
	adopted, err := w.Adopt(t.Context(), work("x"), cancel)
	require.NoError(t, err)
	_, err = w.Adopt(t.Context(), work("x"), cancel)
	require.ErrorIs(t, err, task.ErrNoRoom)
	adopted.Report("still there")
	require.Eventually(t, func() bool { return get(t, s, adopted.Task.ID).StatusMessage == "still there" }, bustest.Patience, time.Millisecond)
	adopted.Finish(done("once"), nil)
	assert.JSONEq(t, `{"text":"once"}`, string(get(t, s, adopted.Task.ID).Result))

	adopted, err = w.Adopt(t.Context(), work("x"), cancel)
	require.NoError(t, err)
	require.NoError(t, s.Cancel(t.Context(), "ada", adopted.Task.ID))
	receive(t, ctx.Done())
	adopted.Finish(mcp.TaskOutcome{Err: jsonrpc.Errorf(1, "x")}, context.Cause(ctx))
	assert.Equal(t, mcp.TaskCancelled, get(t, s, adopted.Task.ID).Status)
	storage := p.storage(t)
	require.Eventually(t, func() bool { n, err := storage.Queued(t.Context()); return err == nil && n == 0 }, bustest.Patience, time.Millisecond)
}
