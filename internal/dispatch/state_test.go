package dispatch_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/seal"
)

// interview asks for a name and then for a colour, and counts its rounds in its
// state.
func interview(_ context.Context, call *mcp.ToolCall) (any, error) {
	err := call.Input(mcp.Ask("name", "Who?"))
	if err == nil {
		err = call.Input(mcp.Ask("colour", "Which?"))
	}
	if ask, ok := err.(*mcp.InputRequired); ok { //nolint:errorlint // as Input returns it
		ask.State = call.RequestState + "+"
	}
	if err != nil {
		return nil, err
	}
	name, _ := call.InputResponses.Text("name")
	colour, _ := call.InputResponses.Text("colour")
	return fmt.Sprintf("%s likes %s after %s", name, colour, call.RequestState), nil
}

const anyone = `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/protocolVersion":"2026-07-28"`

type interviewer struct {
	*dispatch.Dispatcher
	principal, pool string
}

func newInterviewer(t testing.TB, key string, now time.Time) *interviewer {
	t.Helper()
	keys, err := seal.ParseKeyring(strings.NewReader(key), time.Minute, func() time.Time { return now })
	require.NoError(t, err)
	ask := tool("interview", anyObject, interview)
	other := ask
	other.Name = "other"
	return &interviewer{Dispatcher: newDispatcher(t, dispatch.Config{Keys: keys, Toolsets: []mcp.Toolset{{
		Tools:   []mcp.ServerTool{ask, other},
		Prompts: []mcp.ServerPrompt{prompt("interview", &mcp.InputRequired{State: "of the prompt"})},
	}}})}
}

type outcome struct {
	Error  *jsonrpc.Error
	Result struct {
		ResultType    string
		InputRequests map[string]jsontext.Value
		RequestState  string
		Content       []struct{ Text string }
	}
}

// call sends a tools/call with the given members of params.
func (i *interviewer) call(t testing.TB, tool, arguments, answers, state string) outcome {
	t.Helper()
	return i.send(t, mcp.MethodToolsCall, tool, arguments, answers, state)
}

func (i *interviewer) send(t testing.TB, method, name, arguments, answers, state string) (o outcome) {
	t.Helper()
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":%q,"arguments":%s,"inputResponses":%s,"requestState":%q,"_meta":{%s}}}`,
		method, name, arguments, answers, state, anyone)
	req, fault := mcp.ParseRequest([]byte(raw))
	require.Nil(t, fault)
	req.Principal, req.Pool = i.principal, i.pool
	res := i.Handle(t.Context(), req, nil)
	require.NoError(t, json.Unmarshal(res.Body, &o, json.MatchCaseInsensitiveNames(true)))
	return o
}

func TestRoundsOverTwoWorkers(t *testing.T) {
	key := seal.NewKey()
	first, second := newInterviewer(t, key, time.Now()), newInterviewer(t, key, time.Now())
	asked := first.call(t, "interview", `{"a":1,"b":9007199254740993}`, `{}`, "")
	assert.Contains(t, asked.Result.InputRequests, "name")
	again := second.call(t, "interview", `{ "b": 9007199254740993, "a": 1 }`, `{"name":"Ada"}`, asked.Result.RequestState)
	require.Nil(t, again.Error, "the order of arguments does not count")
	assert.Contains(t, again.Result.InputRequests, "colour")
	assert.NotContains(t, again.Result.InputRequests, "name", "nobody is asked twice")
	assert.NotEqual(t, asked.Result.RequestState, again.Result.RequestState)
	done := first.call(t, "interview", `{"a":1,"b":9007199254740993}`, `{"colour":"blue"}`, again.Result.RequestState)
	require.Nil(t, done.Error)
	assert.Equal(t, "Ada likes blue after ++", done.Result.Content[0].Text)
}

func TestStateOfAnotherRequestIsRefused(t *testing.T) {
	key := seal.NewKey()
	now := time.Now()
	state := newInterviewer(t, key, now).call(t, "interview", `{"n":9007199254740993}`, `{}`, "").Result.RequestState
	fine := newInterviewer(t, key, now)
	assert.Nil(t, fine.call(t, "interview", `{"n":9007199254740993}`, `{}`, state).Error)

	mallory, elsewhere := newInterviewer(t, key, now), newInterviewer(t, key, now)
	mallory.principal, elsewhere.pool = "mallory", "other"
	refused := map[string]outcome{
		"changed":         fine.call(t, "interview", `{"n":9007199254740993}`, `{}`, state+"-TAMPERED"),
		"changed inside":  fine.call(t, "interview", `{"n":9007199254740993}`, `{}`, state[:20]+"A"+state[21:]+"B"),
		"other arguments": fine.call(t, "interview", `{"n":9007199254740992}`, `{}`, state),
		"other tool":      fine.call(t, "other", `{"n":9007199254740993}`, `{}`, state),
		"principal":       mallory.call(t, "interview", `{"n":9007199254740993}`, `{}`, state),
		"pool":            elsewhere.call(t, "interview", `{"n":9007199254740993}`, `{}`, state),
		"stale":           newInterviewer(t, key, now.Add(2*time.Minute)).call(t, "interview", `{"n":9007199254740993}`, `{}`, state),
		"other key":       newInterviewer(t, seal.NewKey(), now).call(t, "interview", `{"n":9007199254740993}`, `{}`, state),
	}
	for name, o := range refused {
		require.NotNil(t, o.Error, name)
		assert.Equal(t, jsonrpc.CodeInvalidParams, o.Error.Code, name)
	}
}

// A prompt may have the name of a tool, and is another request all the same.
func TestStateOfAnotherMethodIsRefused(t *testing.T) {
	i := newInterviewer(t, seal.NewKey(), time.Now())
	state := map[string]string{}
	for _, method := range []string{mcp.MethodToolsCall, mcp.MethodPromptsGet} {
		state[method] = i.send(t, method, "interview", `{}`, `{}`, "").Result.RequestState
		require.Nil(t, i.send(t, method, "interview", `{}`, `{}`, state[method]).Error, method)
	}
	for of, to := range map[string]string{mcp.MethodToolsCall: mcp.MethodPromptsGet, mcp.MethodPromptsGet: mcp.MethodToolsCall} {
		o := i.send(t, to, "interview", `{}`, `{}`, state[of])
		require.NotNil(t, o.Error, to)
		assert.Equal(t, jsonrpc.CodeInvalidParams, o.Error.Code, to)
	}
}

// A client whose answers cannot be kept learns that, and nothing is logged as a
// fault of the tool.
func TestAnswersTooLargeToKeep(t *testing.T) {
	i := newInterviewer(t, seal.NewKey(), time.Now())
	o := i.call(t, "interview", `{}`, fmt.Sprintf(`{"name":%q}`, strings.Repeat("n", 64<<10)), "")
	require.NotNil(t, o.Error)
	assert.Equal(t, jsonrpc.CodeInvalidParams, o.Error.Code)
}

// What this server has sealed and cannot read is no fault of the client.
func TestStateOfAnotherForm(t *testing.T) {
	key := seal.NewKey()
	keys, err := seal.ParseKeyring(strings.NewReader(key), time.Minute, time.Now)
	require.NoError(t, err)
	purpose, err := jsonrpc.Marshal([]any{"", "", mcp.MethodToolsCall, "interview", sha256.Sum256([]byte(`{}`))})
	require.NoError(t, err)
	for state, code := range map[string]int{`{}`: 0, `{`: jsonrpc.CodeInternalError, `{"state":1}`: jsonrpc.CodeInternalError} {
		o := newInterviewer(t, key, time.Now()).call(t, "interview", `{}`, `{}`, keys.Seal([]byte(state), purpose))
		if code == 0 {
			require.Nil(t, o.Error, state)
			continue
		}
		require.NotNil(t, o.Error, state)
		assert.Equal(t, code, o.Error.Code, state)
	}
}

func TestStateNeedsKeys(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{tool("interview", anyObject, interview)}}}})
	i := &interviewer{Dispatcher: d}
	assert.Equal(t, jsonrpc.CodeInternalError, i.call(t, "interview", `{}`, `{}`, "").Error.Code)
	assert.Equal(t, jsonrpc.CodeInvalidParams, i.call(t, "interview", `{}`, `{}`, "x").Error.Code)
}
