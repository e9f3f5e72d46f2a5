package task_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ackWait is short, so that tests of lost workers are.
const ackWait = 300 * time.Millisecond

// A tool is what a test's worker runs.
type tool func(ctx context.Context, w *mcp.TaskWork, report func(string)) mcp.TaskOutcome

// tools run tasks by the names of their tools.
type tools map[string]tool

func (t tools) Serves(name string) bool { return t[name] != nil }

func (t tools) RunTask(ctx context.Context, w *mcp.TaskWork, report func(string)) mcp.TaskOutcome {
	return t[w.Tool](ctx, w, report)
}

func done(text string) mcp.TaskOutcome {
	return mcp.TaskOutcome{Result: jsontext.Value(`{"text":"` + text + `"}`)}
}

// ended is what a tool that heeds its context returns.
func ended(ctx context.Context) mcp.TaskOutcome {
	<-ctx.Done()
	if cause, ok := context.Cause(ctx).(*jsonrpc.Error); ok { //nolint:errorlint // it is given as it is
		return mcp.TaskOutcome{Err: cause}
	}
	return mcp.TaskOutcome{Result: jsontext.Value(`{"text":"ended"}`), IsError: true}
}

// A pool has the tasks of one server.
type pool struct {
	server *embedded.Server
	cfg    bus.TasksConfig

	mu     sync.Mutex
	events []string // ids of tasks that have changed
}

func newPool(t testing.TB) *pool {
	return &pool{
		server: bustest.StartServer(t),
		cfg:    bus.TasksConfig{Address: bus.Address{Realm: "test", Pool: "default"}, AckWait: ackWait},
	}
}

func (p *pool) storage(t testing.TB) *bus.Tasks {
	t.Helper()
	s, err := bus.OpenTasks(t.Context(), bustest.Connect(t, p.server), p.cfg, bustest.Log(t))
	require.NoError(t, err)
	return s
}

func (p *pool) onEvent(e mcp.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e.TaskID)
}

func (p *pool) config() task.Config {
	return task.Config{
		Worker: bus.NewID(), Slots: 8, Events: p.onEvent, Grace: bustest.Patience,
		Settle: 100 * time.Millisecond, Parked: 200 * time.Millisecond, Sweep: time.Hour,
	}
}

func (p *pool) service(t testing.TB) *task.Service {
	return task.NewService(p.storage(t), p.config(), slog.New(slog.DiscardHandler))
}

// A worker is a runner that runs.
type worker struct {
	*task.Runner
	stop func() error // and what Run returned
}

func (p *pool) worker(t testing.TB, exec tools, configure ...func(*task.Config)) *worker {
	t.Helper()
	return p.workerOn(t, p.storage(t), exec, configure...)
}

func (p *pool) workerOn(t testing.TB, s task.Storage, exec tools, configure ...func(*task.Config)) *worker {
	t.Helper()
	cfg := p.config()
	for _, f := range configure {
		f(&cfg)
	}
	w := &worker{Runner: task.NewRunner(task.NewService(s, cfg, bustest.Log(t)))}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	result := make(chan error, 1)
	go func() { result <- w.Run(ctx, exec) }()
	w.stop = sync.OnceValue(func() error {
		cancel()
		return <-result
	})
	t.Cleanup(func() { _ = w.stop() })
	return w
}

func work(name string) *mcp.TaskWork {
	return &mcp.TaskWork{Tool: name, Arguments: jsontext.Value(`{}`), Principal: "ada"}
}

func idempotent(name string) *mcp.TaskWork {
	w := work(name)
	w.Idempotent = true
	return w
}

func create(t testing.TB, s *task.Service, w *mcp.TaskWork) string {
	t.Helper()
	created, err := s.Create(t.Context(), w)
	require.NoError(t, err)
	return created.ID
}

func get(t testing.TB, s *task.Service, id string) mcp.Task {
	t.Helper()
	found, err := s.Get(t.Context(), "ada", id)
	require.NoError(t, err)
	return found
}

// becomes waits until the task is in that state, which nothing announces here.
func becomes(t testing.TB, s *task.Service, id string, status mcp.TaskStatus) (found mcp.Task) {
	t.Helper()
	require.Eventually(t, func() bool {
		found = get(t, s, id)
		return found.Status == status
	}, bustest.Patience, 5*time.Millisecond)
	return found
}

// receive takes the next value of c, and fails the test if there is none in time.
func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(bustest.Patience):
		require.FailNow(t, "nothing came in time")
	}
	return v
}
