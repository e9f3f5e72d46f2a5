package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/test/wire"
)

// tasksMeta is a valid _meta of a client that supports tasks and can show forms.
const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
	`{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// fakeTasks knows the task t-1, which is Ada's if there are principals, and
// remembers what is made of it.
type fakeTasks struct {
	mu       sync.Mutex
	work     *mcp.TaskWork
	full     bool
	updated  mcp.InputResponses
	reported []string
	finished chan mcp.TaskOutcome
	end      context.CancelCauseFunc
	running  <-chan struct{} // what Adopt waits for; nil: nothing
}

func newFakeTasks() *fakeTasks { return &fakeTasks{finished: make(chan mcp.TaskOutcome, 1)} }

func fakeTask(status mcp.TaskStatus) mcp.Task {
	at := time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)
	return mcp.Task{ID: "t-1", Status: status, CreatedAt: at, LastUpdatedAt: at.Add(1500 * time.Millisecond), TTLMs: 1000, PollIntervalMs: 250}
}

func (f *fakeTasks) Create(_ context.Context, w *mcp.TaskWork) (mcp.Task, error) {
	if f.full {
		return mcp.Task{}, mcp.Overloaded(time.Second)
	}
	f.work = w
	return fakeTask(mcp.TaskWorking), nil
}

func (f *fakeTasks) Adopt(_ context.Context, w *mcp.TaskWork, end context.CancelCauseFunc) (mcp.AdoptedTask, error) {
	if f.full {
		return mcp.AdoptedTask{}, errors.New("full")
	}
	f.work, f.end = w, end
	if f.running != nil {
		<-f.running
	}
	return mcp.AdoptedTask{
		Task: fakeTask(mcp.TaskWorking),
		Report: func(message string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.reported = append(f.reported, message)
		},
		Finish: func(out mcp.TaskOutcome, _ error) { f.finished <- out },
	}, nil
}

func (f *fakeTasks) Get(_ context.Context, principal, id string) (mcp.Task, error) {
	switch {
	case id == "broken":
		return mcp.Task{}, errors.New("secret host")
	case id != "t-1" || principal != "":
		return mcp.Task{}, mcp.TaskNotFound()
	}
	task := fakeTask(mcp.TaskInputRequired)
	task.InputRequests = map[string]jsontext.Value{"r": jsontext.Value(`{"method":"roots/list"}`)}
	return task, nil
}

func (f *fakeTasks) Update(ctx context.Context, principal, id string, answers mcp.InputResponses) error {
	f.updated = answers
	_, err := f.Get(ctx, principal, id)
	return err
}

func (f *fakeTasks) Cancel(ctx context.Context, principal, id string) error {
	_, err := f.Get(ctx, principal, id)
	return err
}

func taskTool(policy mcp.TaskPolicy, name string, run run) mcp.ServerTool {
	t := tool(name, textObject, run)
	t.Task = policy
	return t
}

var (
	optional = mcp.TaskPolicy{Mode: mcp.TaskOptional}
	required = mcp.TaskPolicy{Mode: mcp.TaskRequired}
)

func callTask(name, arguments, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, name, arguments, meta)
}

// tasked is a dispatcher of such tools.
func tasked(t *testing.T, tasks dispatch.Tasks, tools ...mcp.ServerTool) *dispatch.Dispatcher {
	t.Helper()
	return newDispatcher(t, dispatch.Config{Tasks: tasks, Events: nowhere, Toolsets: []mcp.Toolset{{Tools: tools}}})
}

// Who becomes a task, for which client.
//
// Spec: Tasks extension, Capability Negotiation.
func TestWhatBecomesATask(t *testing.T) {
	const text = `{"text":"x"}`
	for name, tt := range map[string]struct {
		policy             mcp.TaskPolicy
		plain, with, other string // the answers to clients without tasks, with tasks, and in the contract profile
	}{
		"never":    {mcp.TaskPolicy{}, `"text":"ran"`, `"text":"ran"`, `"text":"ran"`},
		"optional": {optional, `"text":"ran"`, `"resultType":"task"`, `"text":"ran"`},
		"required": {required, `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `"resultType":"task"`, `"code":-32021`},
		"late":     {mcp.TaskPolicy{Mode: mcp.TaskOptional, After: time.Hour}, `"text":"ran"`, `"text":"ran"`, `"text":"ran"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := tasked(t, newFakeTasks(), taskTool(tt.policy, "x", returns("ran", nil)))
			for meta, want := range map[string]string{strictMeta: tt.plain, tasksMeta: tt.with} {
				answer := handle(t, d, mcp.Strict, callTask("x", text, meta))
				assert.Contains(t, answer, want)
				wire.Check(t, "tools/call", []byte(answer))
			}
			assert.Contains(t, handle(t, d, mcp.Contract, callTask("x", text, tasksMeta)), tt.other)
		})
	}
}

// What a task is made of is all that its handler needs, and nothing that is wrong
// becomes one.
func TestCreatedTasks(t *testing.T) {
	tasks := newFakeTasks()
	x := taskTool(optional, "x", returns("ran", nil))
	x.Annotations = &mcp.ToolAnnotations{Idempotent: new(true)}
	d := tasked(t, tasks, x)
	assert.Contains(t, handle(t, d, mcp.Strict, callTask("x", `{}`, tasksMeta)), `"isError":true`)
	assert.Nil(t, tasks.work)
	answer := handle(t, d, mcp.Strict, callTask("x", `{"text":"y"},"inputResponses":{"a":1}`, tasksMeta))
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"","version":""}},`+
		`"taskId":"t-1","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:01.5Z","ttlMs":1000,"pollIntervalMs":250}}`, answer)
	assert.Equal(t, &mcp.TaskWork{
		Tool: "x", Arguments: jsontext.Value(`{"text":"y"}`), Capabilities: mcp.ClientCapabilities{ElicitationForm: true, Tasks: true},
		Answers: mcp.InputResponses{"a": jsontext.Value("1")}, Idempotent: true,
	}, tasks.work)
	tasks.full = true
	assert.Contains(t, handle(t, d, mcp.Strict, callTask("x", `{"text":"y"}`, tasksMeta)), `"code":-31001`)
}

// Whether the client supports tasks comes before anything else about the request.
//
// Spec: Tasks extension, Protocol Errors.
func TestTaskMethods(t *testing.T) {
	tasks := newFakeTasks()
	d := tasked(t, tasks, taskTool(optional, "x", returns("ran", nil)))
	ask := func(method, params, meta string) string {
		answer := handle(t, d, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+meta+`}}`)
		wire.Check(t, method, []byte(answer))
		return answer
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		assert.Contains(t, ask(method, ``, strictMeta), `"code":-32021`)
		assert.Contains(t, ask(method, `"taskId":"t-2","inputResponses":{},`, strictMeta), `"code":-32021`)
		assert.Contains(t, ask(method, `"taskId":7,"inputResponses":{},`, tasksMeta), `"code":-32602`)
		assert.Contains(t, ask(method, `"taskId":"t-2","inputResponses":{},`, tasksMeta), `Task not found`)
		assert.Contains(t, ask(method, `"taskId":"broken","inputResponses":{},`, tasksMeta), `{"code":-32603,"message":"Internal error"}`)
		assert.Contains(t, handle(t, d, mcp.Contract, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`), `"code":-32601`)
	}
	assert.Contains(t, ask("tasks/get", `"taskId":"t-1",`, tasksMeta), `"inputRequests":{"r":{"method":"roots/list"}}`)
	const acknowledged = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"","version":""}}}}`
	assert.Equal(t, acknowledged, ask("tasks/cancel", `"taskId":"t-1",`, tasksMeta))
	assert.Equal(t, acknowledged, ask("tasks/update", `"taskId":"t-1","inputResponses":{"r":{"roots":[]}},`, tasksMeta))
	assert.Equal(t, mcp.InputResponses{"r": jsontext.Value(`{"roots":[]}`)}, tasks.updated)
	for _, wrong := range []string{``, `"inputResponses":[],`, `"inputResponses":null,`} {
		assert.Contains(t, ask("tasks/update", `"taskId":"t-1",`+wrong, tasksMeta), `inputResponses must be an object`)
	}
	for _, method := range []string{"tasks/list", "tasks/result"} {
		assert.Contains(t, ask(method, ``, tasksMeta), `"code":-32601`)
	}
}

// Without tasks the extension is not there, and neither are tools that need it.
func TestWithoutTasks(t *testing.T) {
	var log bytes.Buffer
	d, err := dispatch.New(dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{
		taskTool(optional, "may", returns("ran", nil)), taskTool(required, "must", returns("ran", nil)),
	}}}}, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	ask := func(method, params string) string {
		return handle(t, d, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+tasksMeta+`}}`)
	}
	assert.NotContains(t, ask("server/discover", ``), "extensions")
	assert.NotContains(t, ask("tools/list", ``), "must")
	assert.Contains(t, ask("tasks/get", `"taskId":"t-1",`), `"code":-32601`)
	assert.Contains(t, ask("tools/call", `"name":"may","arguments":{"text":"x"},`), `"text":"ran"`)
	assert.Contains(t, ask("tools/call", `"name":"must","arguments":{"text":"x"},`), `Unknown tool: must`)
	assert.Equal(t, 1, strings.Count(log.String(), "tool=must"))

	with := tasked(t, newFakeTasks(), taskTool(required, "must", returns("ran", nil)))
	assert.Contains(t, handle(t, with, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+strictMeta+`}}`),
		`"extensions":{"io.modelcontextprotocol/tasks":{}}`)
}

func TestTaskPoliciesThatAreWrong(t *testing.T) {
	for _, policy := range []mcp.TaskPolicy{{Mode: 7}, {Mode: -1}, {After: time.Second}, {Mode: mcp.TaskOptional, After: -1}} {
		_, err := dispatch.New(dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{taskTool(policy, "x", returns("", nil))}}}},
			slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, `tool "x"`)
	}
}

// A client may listen for its own tasks, if it supports them.
//
// Spec: Tasks extension, Task Status Notifications.
func TestListeningForTasks(t *testing.T) {
	d := tasked(t, newFakeTasks(), taskTool(optional, "x", returns("ran", nil)))
	ask := func(filter, meta string) string {
		return handle(t, d, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":`+filter+`,`+meta+`}}`)
	}
	assert.Contains(t, ask(`{"taskIds":["t-2","t-1","t-1"]}`, tasksMeta), `"notifications":{"taskIds":["t-1"]}`)
	assert.Contains(t, ask(`{"taskIds":["t-1"]}`, strictMeta), `"code":-32021`)
	assert.Contains(t, ask(`{"taskIds":[]}`, strictMeta), `"notifications":{}`)
	assert.Contains(t, ask(`{"taskIds":["broken"]}`, tasksMeta), `"code":-32603`)
	assert.Contains(t, ask(`{"taskIds":[7]}`, tasksMeta), `notifications.taskIds must be a list of ids`)
	without := newDispatcher(t, publishing(mcp.Toolset{Tools: []mcp.ServerTool{tool("x", anyObject, returns("", nil))}}, nowhere))
	assert.Contains(t, handle(t, without, mcp.Strict, listenTo(`{"toolsListChanged":true}`)), `"notifications":{"toolsListChanged":true}`)
}

// A call that takes longer than its tool allows becomes a task while it runs, and
// is started once.
func TestCallsThatBecomeTasks(t *testing.T) {
	tasks := newFakeTasks()
	started, proceed := make(chan struct{}, 2), make(chan struct{})
	tasks.running = started
	d := tasked(t, tasks, taskTool(mcp.TaskPolicy{Mode: mcp.TaskOptional, After: time.Millisecond}, "x",
		func(_ context.Context, call *mcp.ToolCall) (any, error) {
			call.Progress(1, 2, "before")
			started <- struct{}{}
			<-proceed
			call.Progress(2, 2, "after")
			return string(call.Arguments), nil
		}))
	raw := []byte(callTask("x", `{"text":"y"}`, strings.Replace(tasksMeta, `{"io`, `{"progressToken":"p","io`, 1)))
	req, refusal := mcp.ParseRequest(raw)
	require.Nil(t, refusal)
	var notified []string
	res := d.Handle(t.Context(), req, func(n []byte) { notified = append(notified, string(n)) })
	assert.Contains(t, string(res.Body), `"resultType":"task"`)
	clear(raw) // it is used for something else
	close(proceed)
	out := <-tasks.finished
	assert.Contains(t, string(out.Result), `{"resultType":"complete","_meta":{`)
	assert.Contains(t, string(out.Result), `"text":"{\"text\":\"y\"}"`)
	assert.Empty(t, started, "it was started once")
	assert.Len(t, notified, 1, "nothing after the response")
	assert.Equal(t, []string{"after"}, tasks.reported)
}

// A call that cannot become a task stays one, and its client's leaving ends it.
func TestCallsThatCannotBecomeTasks(t *testing.T) {
	tasks := newFakeTasks()
	tasks.full = true
	started := make(chan struct{}, 1)
	proceed := make(chan struct{})
	d := tasked(t, tasks, taskTool(mcp.TaskPolicy{Mode: mcp.TaskRequired, After: time.Millisecond}, "x",
		func(ctx context.Context, _ *mcp.ToolCall) (any, error) {
			started <- struct{}{}
			select {
			case <-proceed:
				return "done", nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}))
	ctx, cancel := context.WithCancelCause(t.Context())
	answers := make(chan string, 1)
	ask := func() {
		answers <- string(d.Handle(ctx, parse(t, mcp.Strict, callTask("x", `{"text":"y"}`, tasksMeta)), func([]byte) {}).Body)
	}
	go ask()
	<-started
	proceed <- struct{}{}
	assert.Contains(t, <-answers, `"text":"done"`)
	go ask()
	<-started
	cancel(mcp.DeadlineExceeded(true))
	assert.Contains(t, <-answers, `"code":-31003`)
}

// The end of a task's context ends its call, whoever ends it.
func TestCancellingACallThatBecameATask(t *testing.T) {
	tasks := newFakeTasks()
	d := tasked(t, tasks, taskTool(mcp.TaskPolicy{Mode: mcp.TaskOptional, After: time.Millisecond}, "x",
		func(ctx context.Context, _ *mcp.ToolCall) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	ctx, gone := context.WithCancel(t.Context())
	answer := string(d.Handle(ctx, parse(t, mcp.Strict, callTask("x", `{"text":"y"}`, tasksMeta)), func([]byte) {}).Body)
	assert.Contains(t, answer, `"resultType":"task"`)
	gone()
	assert.Empty(t, tasks.finished, "the request is over, the task is not")
	tasks.end(errors.New("cancelled"))
	assert.True(t, (<-tasks.finished).IsError)
}

// A task's call answers as the call would, and asks as it would.
func TestRunTask(t *testing.T) {
	invalid := func(context.Context, *mcp.ToolCall) (any, error) { return nil, jsonrpc.Errorf(7, "no") }
	tools := []mcp.ServerTool{
		taskTool(optional, "error", invalid),
		taskTool(optional, "panic", func(context.Context, *mcp.ToolCall) (any, error) { panic("boom") }),
		taskTool(optional, "report", func(_ context.Context, call *mcp.ToolCall) (any, error) {
			call.Progress(1, 0, "")
			call.Progress(1, 4, "not more than before")
			call.Progress(2, 4, "")
			call.Progress(3, 4, "three")
			call.Log(mcp.LogError, "", "nowhere to go")
			return "done", nil
		}),
		taskTool(optional, "ask", func(_ context.Context, call *mcp.ToolCall) (any, error) {
			err := call.Input(mcp.Ask("a", "A?"), mcp.Ask("b", "B?"))
			if ask, ok := errors.AsType[*mcp.InputRequired](err); ok {
				ask.State = "kept " + call.RequestState
			}
			return "done", err
		}),
		withOutput(sumObject, taskTool(optional, "wrong", returns(map[string]string{"total": "secret"}, nil))),
	}
	d := tasked(t, newFakeTasks(), tools...)
	var reported []string
	run := func(w mcp.TaskWork) mcp.TaskOutcome {
		w.Arguments = jsontext.Value(`{"text":"x"}`)
		return d.RunTask(t.Context(), &w, func(m string) { reported = append(reported, m) })
	}
	assert.Equal(t, 7, run(mcp.TaskWork{Tool: "error"}).Err.Code)
	assert.Equal(t, jsonrpc.CodeInvalidParams, run(mcp.TaskWork{Tool: "none"}).Err.Code)
	assert.Equal(t, jsonrpc.CodeInternalError, run(mcp.TaskWork{Tool: "wrong"}).Err.Code)
	panicked := run(mcp.TaskWork{Tool: "panic"})
	assert.True(t, panicked.IsError)
	assert.Contains(t, string(panicked.Result), "Error: boom")
	assert.NotNil(t, run(mcp.TaskWork{Tool: "report"}).Result)
	assert.Equal(t, []string{"1 done", "2 of 4", "three"}, reported)

	assert.Equal(t, mcp.CodeMissingCapability, run(mcp.TaskWork{Tool: "ask"}).Err.Code)
	forms := mcp.ClientCapabilities{ElicitationForm: true}
	answers := mcp.InputResponses{"a": jsontext.Value(`"1"`), "b": jsontext.Value(`2`), "c": jsontext.Value(`"3"`)}
	asked := run(mcp.TaskWork{Tool: "ask", Capabilities: forms, Answers: answers, State: "before"})
	assert.Equal(t, "kept before", asked.State)
	assert.Equal(t, mcp.InputResponses{"a": jsontext.Value(`"1"`)}, asked.Answered, "what was accepted, and nothing else")
	require.Len(t, asked.Ask, 1)
	assert.Contains(t, string(asked.Ask["b"]), `"method":"elicitation/create"`)
	assert.Contains(t, string(run(mcp.TaskWork{Tool: "ask", Capabilities: forms,
		Answers: mcp.InputResponses{"a": jsontext.Value(`"1"`), "b": jsontext.Value(`"2"`)}}).Result), "done")
}
