package task_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/task"
)

// What has been created is there for every process at once, and for its principal
// only.
func TestCreate(t *testing.T) {
	p := newPool(t)
	here, there := p.service(t), p.service(t)
	created, err := here.Create(t.Context(), work("x"))
	require.NoError(t, err)
	assert.Equal(t, mcp.TaskWorking, created.Status)
	assert.EqualValues(t, 24*time.Hour/time.Millisecond, created.TTLMs)
	assert.GreaterOrEqual(t, len(created.ID), 26)
	assert.Equal(t, created, get(t, there, created.ID))
	for _, of := range [][2]string{{"", created.ID}, {"bob", created.ID}, {"ada", "none"}, {"ada", "a.b*"}, {"ada", ""}, {"ada", "_sweep"}} {
		principal, id := of[0], of[1]
		_, err := there.Get(t.Context(), principal, id)
		assert.Equal(t, mcp.TaskNotFound(), err)
		assert.Equal(t, mcp.TaskNotFound(), there.Cancel(t.Context(), principal, id))
		assert.Equal(t, mcp.TaskNotFound(), there.Update(t.Context(), principal, id, mcp.InputResponses{"a": nil}))
	}
	large := work("x")
	large.Arguments = jsontext.Value(fmt.Sprintf(`{"x":"%01048000d"}`, 0))
	_, err = here.Create(t.Context(), large)
	assert.Equal(t, mcp.CodeMessageTooLarge, code(t, err))
}

func code(t *testing.T, err error) int {
	t.Helper()
	e, ok := err.(*jsonrpc.Error) //nolint:errorlint // it is returned as it is
	require.True(t, ok, "%v", err)
	return e.Code
}

func TestLimits(t *testing.T) {
	p := newPool(t)
	p.cfg.MaxTasks, p.cfg.MaxPerPrincipal = 3, 2
	s := p.service(t)
	first := create(t, s, work("x"))
	create(t, s, work("x"))
	_, err := s.Create(t.Context(), work("x"))
	assert.Equal(t, mcp.CodeRateLimited, code(t, err))
	others := work("x")
	others.Principal = "bob"
	create(t, s, others)
	others.Principal = "eve"
	_, err = s.Create(t.Context(), others)
	assert.Equal(t, mcp.CodeOverloaded, code(t, err))

	require.NoError(t, s.Cancel(t.Context(), "ada", first))
	p.worker(t, tools{"x": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome { return done("ok") }})
	require.Eventually(t, func() bool { _, err := s.Create(t.Context(), work("x")); return err == nil }, bustest.Patience, time.Millisecond,
		"there is room again when tasks have ended")
}

func TestRun(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	proceed := make(chan struct{})
	p.worker(t, tools{
		"result": func(_ context.Context, w *mcp.TaskWork, report func(string)) mcp.TaskOutcome {
			report("half way")
			<-proceed
			return done(string(w.Arguments))
		},
		"error": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
			return mcp.TaskOutcome{Err: mcp.Overloaded(time.Second)}
		},
		"large": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
			return done(fmt.Sprintf("%01100000d", 0))
		},
	})
	id := create(t, s, work("result"))
	require.Eventually(t, func() bool { return get(t, s, id).StatusMessage == "half way" }, bustest.Patience, time.Millisecond)
	close(proceed)
	ended := becomes(t, s, id, mcp.TaskCompleted)
	assert.JSONEq(t, `{"text":"{}"}`, string(ended.Result))
	assert.InDelta(t, time.Hour.Milliseconds(), ended.TTLMs, 60_000, "it is kept for an hour")

	ended = becomes(t, s, create(t, s, work("error")), mcp.TaskFailed)
	assert.Equal(t, mcp.CodeOverloaded, ended.Error.Code)
	ended = becomes(t, s, create(t, s, work("large")), mcp.TaskFailed)
	assert.Equal(t, mcp.CodeMessageTooLarge, ended.Error.Code)
}

// Many tasks on several workers: each is run once, and then nothing is queued.
func TestEachRunsOnce(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	const tasks = 200
	var runs [tasks]atomic.Int32
	exec := tools{"count": func(_ context.Context, w *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
		var n int
		_, err := fmt.Sscan(string(w.Arguments), &n)
		if err == nil {
			runs[n].Add(1)
		}
		return done("ok")
	}}
	for range 3 {
		p.worker(t, exec)
	}
	var ids [tasks]string
	var all sync.WaitGroup
	for n := range tasks {
		all.Go(func() {
			w := work("count")
			w.Arguments = jsontext.Value(fmt.Sprint(n))
			created, err := s.Create(t.Context(), w)
			assert.NoError(t, err)
			ids[n] = created.ID
		})
	}
	all.Wait()
	for n, id := range ids {
		becomes(t, s, id, mcp.TaskCompleted)
		assert.EqualValues(t, 1, runs[n].Load())
	}
	storage := p.storage(t)
	require.Eventually(t, func() bool { n, err := storage.Queued(t.Context()); return err == nil && n == 0 }, bustest.Patience, time.Millisecond)
}

// The questions of a task are asked one after the other, each answer counts once,
// and no worker is occupied meanwhile.
func TestInputs(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	question := func(ids ...string) mcp.TaskOutcome {
		out := mcp.TaskOutcome{Ask: map[string]jsontext.Value{}, State: "round"}
		for _, id := range ids {
			out.Ask[id] = jsontext.Value(`{"method":"roots/list"}`)
		}
		return out
	}
	exec := tools{"ask": func(_ context.Context, w *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
		switch {
		case w.State == "":
			return question("a", "b")
		case len(w.Answers) == 2:
			return done(string(w.Answers["a"]) + string(w.Answers["b"]))
		}
		return mcp.TaskOutcome{Err: mcp.InternalError()}
	}}
	p.worker(t, exec, func(cfg *task.Config) { cfg.Slots = 1 })
	id := create(t, s, work("ask"))
	other := create(t, s, work("ask"))
	waiting := becomes(t, s, id, mcp.TaskInputRequired)
	becomes(t, s, other, mcp.TaskInputRequired)
	assert.Len(t, waiting.InputRequests, 2)

	require.NoError(t, s.Update(t.Context(), "ada", id, mcp.InputResponses{"a": jsontext.Value("1"), "c": jsontext.Value("3")}))
	waiting = get(t, s, id)
	assert.Equal(t, mcp.TaskInputRequired, waiting.Status)
	assert.Len(t, waiting.InputRequests, 1)
	require.NoError(t, s.Update(t.Context(), "ada", id, mcp.InputResponses{"b": jsontext.Value("2"), "a": jsontext.Value("9")}))
	assert.NotEqual(t, mcp.TaskInputRequired, get(t, s, id).Status)
	assert.JSONEq(t, `{"text":"12"}`, string(becomes(t, s, id, mcp.TaskCompleted).Result))

	require.NoError(t, s.Cancel(t.Context(), "ada", other))
	assert.Equal(t, mcp.TaskCancelled, get(t, s, other).Status, "nobody has to be asked")
}

// A task whose client's answer has been stored, but whose message nobody has
// called back, goes on when the message comes of itself.
func TestForgottenAnswer(t *testing.T) {
	p := newPool(t)
	exec := tools{"ask": func(_ context.Context, w *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
		if len(w.Answers) > 0 {
			return done("ok")
		}
		return mcp.TaskOutcome{Ask: map[string]jsontext.Value{"a": jsontext.Value(`{}`)}}
	}}
	p.worker(t, exec)
	s := task.NewService(mute{p.storage(t)}, p.config(), bustest.Log(t))
	id := create(t, s, work("ask"))
	becomes(t, s, id, mcp.TaskInputRequired)
	require.NoError(t, s.Update(t.Context(), "ada", id, mcp.InputResponses{"a": jsontext.Value("1")}))
	becomes(t, s, id, mcp.TaskCompleted)
}

// mute is storage of a process that dies before it says anything about messages.
type mute struct{ task.Storage }

func (mute) Nak(string, time.Duration) {}
func (mute) Ack(string)                {}
func (mute) Progress(string)           {}

func TestCancel(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	started := make(chan struct{}, 1)
	heedless := make(chan struct{})
	p.worker(t, tools{
		"heed": func(ctx context.Context, _ *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
			started <- struct{}{}
			return ended(ctx)
		},
		"ignore": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
			started <- struct{}{}
			<-heedless
			return done("ok")
		},
	})
	id := create(t, s, work("heed"))
	receive(t, started)
	start := time.Now()
	require.NoError(t, s.Cancel(t.Context(), "ada", id))
	require.NoError(t, s.Cancel(t.Context(), "ada", id))
	becomes(t, s, id, mcp.TaskCancelled)
	assert.Less(t, time.Since(start), time.Second)

	id = create(t, s, work("ignore"))
	receive(t, started)
	require.NoError(t, s.Cancel(t.Context(), "ada", id))
	assert.Equal(t, mcp.TaskWorking, get(t, s, id).Status)
	close(heedless)
	becomes(t, s, id, mcp.TaskCompleted)
	require.NoError(t, s.Cancel(t.Context(), "ada", id), "which changes nothing")
	assert.Equal(t, mcp.TaskCompleted, get(t, s, id).Status)
}

// Before a task is begun, cancelling ends it at once, and it never runs.
func TestCancelBeforeItBegins(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	id := create(t, s, work("never"))
	require.NoError(t, s.Cancel(t.Context(), "ada", id))
	assert.Equal(t, mcp.TaskCancelled, get(t, s, id).Status)
	p.worker(t, tools{"never": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
		assert.Fail(t, "it runs")
		return done("ran")
	}})
	storage := p.storage(t)
	require.Eventually(t, func() bool { n, err := storage.Queued(t.Context()); return err == nil && n == 0 }, bustest.Patience, time.Millisecond)
	assert.Equal(t, mcp.TaskCancelled, get(t, s, id).Status)
}

// A worker that serves a tool runs its task, whoever gets the message first.
func TestTaskOfAToolThatOnlyOneServes(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	p.worker(t, tools{})
	id := create(t, s, work("new"))
	p.worker(t, tools{"new": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome { return done("ok") }})
	becomes(t, s, id, mcp.TaskCompleted)
}

func TestDrain(t *testing.T) {
	p := newPool(t)
	s := p.service(t)
	started := make(chan struct{}, 3)
	proceed := make(chan struct{})
	exec := tools{
		"finish": func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome {
			started <- struct{}{}
			<-proceed
			return done("finished")
		},
		"endless": func(ctx context.Context, _ *mcp.TaskWork, _ func(string)) mcp.TaskOutcome {
			started <- struct{}{}
			return ended(ctx)
		},
	}
	w := p.worker(t, exec, func(cfg *task.Config) { cfg.Grace = 100 * time.Millisecond })
	finish, fails, moves := create(t, s, work("finish")), create(t, s, work("endless")), create(t, s, idempotent("endless"))
	for range 3 {
		receive(t, started)
	}
	close(proceed)
	becomes(t, s, finish, mcp.TaskCompleted)
	require.NoError(t, w.stop())
	assert.Equal(t, mcp.CodeOutcomeUnknown, get(t, s, fails).Error.Code)
	assert.Equal(t, mcp.TaskWorking, get(t, s, moves).Status)
	queued := create(t, s, work("again"))

	again := func(context.Context, *mcp.TaskWork, func(string)) mcp.TaskOutcome { return done("again") }
	p.worker(t, tools{"endless": again, "again": again})
	becomes(t, s, moves, mcp.TaskCompleted)
	becomes(t, s, queued, mcp.TaskCompleted)
}
