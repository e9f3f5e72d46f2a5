package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
)

// tasked makes p a request of a client that supports tasks.
func tasked(p post) post {
	p.body = strings.Replace(p.body, `{"elicitation":{}}`, `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
	return p
}

// aboutTask returns a request of a method of the extension.
func aboutTask(method, id, members string) post {
	return tasked(strict(method, id, join(fmt.Sprintf(`"taskId":%q`, id), members)))
}

// A taskState is what clients see of a task.
type taskState struct {
	ResultType    string
	TaskID        string
	Status        string
	StatusMessage string
	LastUpdatedAt string
	InputRequests map[string]struct{ Method string }
	Result        json.RawMessage
	Error         *struct{ Code int }
}

func (a answer) task(t testing.TB) taskState {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.response())
	var r struct{ Result taskState }
	require.NoError(t, json.Unmarshal([]byte(a.response()), &r))
	require.NotEmpty(t, r.Result.TaskID, a.response())
	return r.Result
}

// compute creates a task that works for that many seconds.
func (c *caller) compute(t testing.TB, seconds float64) taskState {
	t.Helper()
	return c.createTask(t, "slow_compute", fmt.Sprintf(`{"seconds":%g,"label":"e2e"}`, seconds))
}

func (c *caller) createTask(t testing.TB, name, arguments string) taskState {
	t.Helper()
	created := c.ask(t, tasked(tool(name, arguments))).task(t)
	require.Equal(t, "task", created.ResultType)
	return created
}

// becomes waits until a task is as wanted, of which nothing tells here.
func (c *caller) becomes(t testing.TB, id string, wanted func(taskState) bool) (s taskState) {
	t.Helper()
	const longPatience = 3 * patience // a worker has to be taken for lost first
	require.Eventually(t, func() bool {
		a, err := c.send(t.Context(), aboutTask("tasks/get", id, ""))
		if err != nil || a.status != http.StatusOK {
			return false // while NATS is away
		}
		s = a.task(t)
		return wanted(s)
	}, longPatience, 20*time.Millisecond)
	return s
}

// startTasks starts an ingress, and n workers with the toolset everything.
func startTasks(t testing.TB, url string, n int) *fleet {
	t.Helper()
	// A short deadline, since what is sent to a stopped worker waits for it.
	f := startFleet(t, inProcess, url, 0, "-deadline", "2s")
	for range n {
		f.workers = append(f.workers, inProcess(t, "worker", "-nats", url, "-toolsets", "everything"))
	}
	f.awaitWorkers(t, n)
	return f
}

func is(status string) func(taskState) bool {
	return func(s taskState) bool { return s.Status == status }
}

// A task outlives the ingress that its client has talked to, and a restart of
// NATS; another client finds it by its id.
func TestTaskOutlivesWhatItWasCreatedThrough(t *testing.T) {
	t.Parallel()
	nats := startRestartable(t)
	first := startTasks(t, nats.server.ClientURL(), 1)
	second := startFleet(t, inProcess, nats.server.ClientURL(), 0)
	second.awaitWorkers(t, 1)
	id := first.compute(t, 2.5).TaskID
	second.becomes(t, id, func(s taskState) bool { return s.StatusMessage != "" })
	first.ingress.Terminate()
	require.NoError(t, first.ingress.wait(t))
	nats.server.Close()
	nats.start(t)
	ended := second.becomes(t, id, is("completed"))
	assert.Contains(t, string(ended.Result), "Worked for 2.5 seconds: e2e")
}

var saysNotWritten = regexp.MustCompile(`(the end of a task is not written)`)

// A worker that was stopped for so long that another has run its task cannot
// change it any more.
func TestWorkerThatWasStopped(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	f := startTasks(t, url, 0)
	cmd := binary(t, "worker", "-nats", url, "-toolsets", "everything")
	stopped := launch(t, cmd)
	f.awaitWorkers(t, 1)
	id := f.compute(t, 2.5).TaskID
	f.becomes(t, id, func(s taskState) bool { return s.StatusMessage != "" })
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	asProcess(t, "worker", "-nats", url, "-toolsets", "everything")
	ended := f.becomes(t, id, is("completed"))

	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	stopped.says(t, saysNotWritten)
	assert.Equal(t, ended, f.becomes(t, id, func(taskState) bool { return true }))
}

// Who listens for a task hears what it asks, and how it ends.
//
// Spec: Tasks extension, Task Status Notifications.
func TestTaskNotifications(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	f := startTasks(t, server.ClientURL(), 2)
	second := startFleet(t, inProcess, server.ClientURL(), 0)
	second.awaitWorkers(t, 2)
	id := f.createTask(t, "confirm_delete", `{"filename":"x"}`).TaskID
	filter := fmt.Sprintf(`{"taskIds":[%q]}`, id)
	s, err := second.open(t.Context(), tasked(listenTo(fmt.Sprintf(`{"taskIds":[%q,"of-nobody"]}`, id))))
	require.NoError(t, err)
	defer s.Body.Close()
	assert.Contains(t, s.message(t), `"notifications":`+filter)
	next := func() (state taskState) {
		var n struct {
			Method string
			Params taskState
		}
		require.NoError(t, json.Unmarshal([]byte(s.message(t)), &n))
		require.Equal(t, "notifications/tasks", n.Method)
		require.Equal(t, id, n.Params.TaskID)
		return n.Params
	}
	state := next()
	for state.Status == "working" { // it may not have asked yet
		state = next()
	}
	require.Equal(t, "input_required", state.Status)
	assert.Equal(t, "elicitation/create", state.InputRequests["confirm"].Method)

	a := f.ask(t, aboutTask("tasks/update", id, `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`))
	assert.Contains(t, a.response(), `"resultType":"complete"`)
	for state.Status != "completed" {
		state = next()
	}
	assert.Contains(t, string(state.Result), `Pretended to delete`)
	final := second.ask(t, aboutTask("tasks/get", id, "")).task(t)
	assert.Equal(t, final.LastUpdatedAt, state.LastUpdatedAt)
	assert.JSONEq(t, string(final.Result), string(state.Result))
}

// What is refused, and with which status.
func TestTaskRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := startEverything(t)
	id := c.compute(t, 60).TaskID
	for name, tt := range map[string]struct {
		post   post
		status int
		code   int
	}{
		"tool that is only a task":       {tool("failing_job", `{}`), http.StatusBadRequest, -32021},
		"method without the extension":   {strict("tasks/get", id, fmt.Sprintf(`"taskId":%q`, id)), http.StatusBadRequest, -32021},
		"listening without it":           {listenTo(`{"taskIds":["x"]}`), http.StatusBadRequest, -32021},
		"header that names another task": {aboutTask("tasks/cancel", id, "").with("Mcp-Name", "other"), http.StatusBadRequest, -32020},
		"task that does not exist":       {aboutTask("tasks/cancel", "none", ""), http.StatusOK, -32602},
	} {
		a := c.ask(t, tt.post)
		assert.Equal(t, tt.status, a.status, name)
		assert.Equal(t, tt.code, a.code(t), name)
	}
	start := time.Now()
	c.ask(t, aboutTask("tasks/cancel", id, ""))
	c.becomes(t, id, is("cancelled"))
	assert.Less(t, time.Since(start), patience)
}
