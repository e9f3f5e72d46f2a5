package dispatch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// noCatalogue is a source whose templates cannot be listed.
type noCatalogue struct{ mcp.ResourceSource }

func (noCatalogue) Templates() []mcp.ServerTemplate {
	template := mcp.ServerTemplate{ResourceTemplate: mcp.ResourceTemplate{URITemplate: "a://{b}"}}
	return []mcp.ServerTemplate{template, template, {}}
}

func TestNewReportsAllProblems(t *testing.T) {
	_, err := dispatch.New(dispatch.Config{
		PageSize: -1,
		Toolsets: []mcp.Toolset{{
			Tools: []mcp.ServerTool{
				tool("twice", anyObject, ask), tool("fine", anyObject, ask), tool("", anyObject, ask),
				tool("no_function", anyObject, nil), tool("no_schema", "", ask),
				withOutput(`7`, tool("both", `{"type":"string"}`, ask)),
				tool("duplicates", `{"type":"object","type":"object"}`, ask),
			},
			Resources: noCatalogue{},
		}, {
			Tools: []mcp.ServerTool{tool("twice", anyObject, ask)},
			Prompts: []mcp.ServerPrompt{
				{Prompt: mcp.Prompt{Name: "no_function"}}, prompt("same", nil), prompt("same", nil),
			},
		}},
	}, slog.New(slog.DiscardHandler))
	for _, problem := range []string{
		`page size -1 is negative`,
		`tool "twice" is registered twice`,
		`a tool has no name`,
		`tool "no_function": it has no function`,
		`tool "no_schema": it has no input schema`,
		`tool "both": input schema: its type must be "object"`,
		`output schema: it must be an object`,
		`tool "duplicates": input schema: ambiguous JSON: member "type" occurs twice`,
		`prompt "no_function": it has no function`,
		`prompt "same" is registered twice`,
		`resource template "a://{b}" is registered twice`,
		`a resource template has no name`,
	} {
		assert.ErrorContains(t, err, problem)
	}
	assert.NotContains(t, err.Error(), "fine")
}

// A family that has nothing is neither declared nor served, but the contract
// always has its tools.
func TestEmptyCatalogue(t *testing.T) {
	d := newDispatcher(t, dispatch.Config{Toolsets: []mcp.Toolset{{Name: "empty", Instructions: "Nothing here."}}})

	discover := handle(t, d, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+strictMeta+`}}`)
	assert.Contains(t, discover, `"capabilities":{},"instructions":"Nothing here."`)
	for _, method := range []string{
		"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list",
	} {
		got := handle(t, d, mcp.Strict, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, strictMeta))
		assert.Contains(t, got, `"code":-32601`, method)
	}
	assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`,
		handle(t, d, mcp.Contract, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
}

// Workers that have registered the same in another order answer the same bytes.
func TestOrderOfRegistrationDoesNotMatter(t *testing.T) {
	reversed := fixture()
	slices.Reverse(reversed.Toolsets)
	for _, set := range reversed.Toolsets {
		slices.Reverse(set.Tools)
		slices.Reverse(set.Prompts)
	}
	first, second := newDispatcher(t, fixture()), newDispatcher(t, reversed)
	for _, request := range []string{
		`"method":"server/discover","params":{`, `"method":"tools/list","params":{`, `"method":"prompts/list","params":{`,
		`"method":"resources/list","params":{`, `"method":"resources/templates/list","params":{`,
		`"method":"resources/read","params":{"uri":"mem://a",`,
	} {
		raw := `{"jsonrpc":"2.0","id":1,` + request + strictMeta + `}}`
		assert.Equal(t, handle(t, first, mcp.Strict, raw), handle(t, second, mcp.Strict, raw))
	}
	raw := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	assert.Equal(t, handle(t, first, mcp.Contract, raw), handle(t, second, mcp.Contract, raw))
}

func TestNotificationDoesNotPanic(t *testing.T) {
	d := newDispatcher(t, fixture())
	for _, method := range []string{"notifications/cancelled", "tools/call", "tools/list"} {
		for _, profile := range []mcp.Profile{mcp.Strict, mcp.Contract} {
			req := parse(t, profile, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{%s}}`, method, strictMeta))
			assert.NotPanics(t, func() { d.Handle(t.Context(), req, nil) }, method)
		}
	}
}

// Progress arrives before the response, and is dropped once the tool has
// returned.
func TestNotificationsEndWithTheCall(t *testing.T) {
	var kept *mcp.Call
	d := newDispatcher(t, dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{
		tool("work", anyObject, func(_ context.Context, call *mcp.ToolCall) (any, error) {
			kept = call.Call
			call.Progress(1, 2, "half")
			return "done", nil
		}),
	}}}})
	req := parse(t, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work",`+
		strings.Replace(strictMeta, `{"io`, `{"progressToken":"p","io`, 1)+`}}`)
	var sent []string
	d.Handle(t.Context(), req, func(notification []byte) { sent = append(sent, string(notification)) })
	kept.Progress(2, 2, "late")
	require.Len(t, sent, 1)
	assert.Contains(t, sent[0], `"progress":1`)
}

// What a tool is given: the arguments as they were sent, and the same decoded,
// the principal and the context of the request.
func TestToolCallIsComplete(t *testing.T) {
	type key struct{}
	var got mcp.ToolCall
	var value any
	d := newDispatcher(t, dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{
		tool("look", anyObject, func(ctx context.Context, call *mcp.ToolCall) (any, error) {
			got, value = mcp.ToolCall{Arguments: slices.Clone(call.Arguments), Values: call.Values}, ctx.Value(key{})
			return call.Principal, nil
		}),
	}}}})
	req := parse(t, mcp.Contract, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"a":[1.0,{"b":null}],"c":true}}}`)
	req.Principal = "ada"
	res := d.Handle(context.WithValue(t.Context(), key{}, "trace"), req, nil)
	assert.Contains(t, string(res.Body), `"text":"ada"`)
	assert.Equal(t, "trace", value)
	assert.Equal(t, jsontext.Value(`{"a":[1.0,{"b":null}],"c":true}`), got.Arguments)
	assert.Equal(t, `map[a:[1.0 map[b:<nil>]] c:true]`, fmt.Sprint(got.Values))
}

func TestConcurrentRequests(t *testing.T) {
	d := newDispatcher(t, fixture())
	requests := []string{
		`"method":"tools/list","params":{`, `"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},`,
		`"method":"tools/call","params":{"name":"sum",`, `"method":"tools/call","params":{"name":"pair","arguments":{"second":0,"first":"x"},`,
		`"method":"tools/call","params":{"name":"panic",`, `"method":"prompts/get","params":{"name":"greet","arguments":{"name":"Ada"},`,
		`"method":"resources/list","params":{`, `"method":"server/discover","params":{`,
	}
	want := make([]string, len(requests))
	for i, request := range requests {
		requests[i] = `{"jsonrpc":"2.0","id":1,` + request + strictMeta + `}}`
		want[i] = handle(t, d, mcp.Strict, requests[i])
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, request := range requests {
				req, _ := mcp.ParseRequest([]byte(request))
				assert.Equal(t, want[i], string(d.Handle(t.Context(), req, func([]byte) {}).Body))
			}
		})
	}
	wg.Wait()
}

// logged answers raw and returns what was logged meanwhile, as JSON lines.
func logged(ctx context.Context, t *testing.T, raw string) []string {
	t.Helper()
	var buf bytes.Buffer
	d, err := dispatch.New(fixture(), slog.New(slog.NewJSONHandler(&buf, nil)))
	require.NoError(t, err)
	d.Handle(ctx, parse(t, mcp.Strict, raw), nil)
	return strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
}

func strictRequest(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s,%s}}`, id, method, params, strictMeta)
}

func TestInternalErrorIsLoggedOnce(t *testing.T) {
	lines := logged(t.Context(), t, strictRequest(`"r7"`, "prompts/get", `"name":"broken"`))
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], `"level":"ERROR","msg":"request failed","request_id":"\"r7\"","method":"prompts/get","error":"secret path"`)
}

func TestInputRequiredForNothingIsLogged(t *testing.T) {
	var buf bytes.Buffer
	d, err := dispatch.New(dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{
		tool("vague", anyObject, returns(nil, &mcp.InputRequired{})),
	}}}}, slog.New(slog.NewJSONHandler(&buf, nil)))
	require.NoError(t, err)
	res := d.Handle(t.Context(), parse(t, mcp.Strict, strictRequest(`1`, "tools/call", `"name":"vague"`)), nil)
	assert.Equal(t, jsonrpc.CodeInternalError, res.Code)
	assert.Contains(t, buf.String(), "a handler asked for input")
}

func TestBrokenOutputIsLoggedWithoutContent(t *testing.T) {
	lines := logged(t.Context(), t, strictRequest(`1`, "tools/call", `"name":"sum_wrong"`))
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], `tool \"sum_wrong\": structured content breaks the output schema at #/properties/total/type`)
	assert.NotContains(t, lines[0], "secret")
}

func TestPanicIsLoggedOnceWithItsPlace(t *testing.T) {
	for method, params := range map[string]string{
		"tools/call": `"name":"panic"`, "prompts/get": `"name":"panic"`, "resources/read": `"uri":"mem://panic"`,
	} {
		lines := logged(t.Context(), t, strictRequest(`1`, method, params))
		require.Len(t, lines, 1, method)
		assert.Contains(t, lines[0], `"msg":"handler panicked"`)
		assert.Contains(t, lines[0], `"panic":"string","stack":"github.com/mcpyard/mcpyard/internal/dispatch_test.`, "the innermost function comes first")
		assert.NotContains(t, lines[0], "boom")
	}
}

func TestRuntimePanicIsLoggedWithItsMessage(t *testing.T) {
	var buf bytes.Buffer
	d, err := dispatch.New(dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{
		tool("index", anyObject, func(context.Context, *mcp.ToolCall) (any, error) { return []int{}[len(t.Name()):], nil }),
	}}}}, slog.New(slog.NewJSONHandler(&buf, nil)))
	require.NoError(t, err)
	handle(t, d, mcp.Contract, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"index"}}`)
	assert.Contains(t, buf.String(), `"panic":"runtime error: slice bounds out of range`)
}

func TestNothingIsLoggedOfAnEndedRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, []string{""}, logged(ctx, t, strictRequest(`1`, "prompts/get", `"name":"broken"`)))
}

func TestToolErrorsAreNotLogged(t *testing.T) {
	for _, name := range []string{"fail", "refuse", "protocol", "ask"} {
		assert.Equal(t, []string{""}, logged(t.Context(), t, strictRequest(`1`, "tools/call", `"name":"`+name+`"`)), name)
	}
}

func TestCauseOfTheEndIsTheAnswer(t *testing.T) {
	d := newDispatcher(t, fixture())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(mcp.OutcomeUnknown("the worker had to stop"))
	for _, raw := range []string{
		strictRequest(`1`, "tools/call", `"name":"fail"`), strictRequest(`1`, "prompts/get", `"name":"broken"`),
	} {
		assert.Equal(t, mcp.CodeOutcomeUnknown, d.Handle(ctx, parse(t, mcp.Strict, raw), nil).Code)
	}
	finished := strictRequest(`1`, "tools/call", `"name":"echo","arguments":{"text":"hi"}`)
	assert.Zero(t, d.Handle(ctx, parse(t, mcp.Strict, finished), nil).Code, "what was done all the same is not taken back")
}
