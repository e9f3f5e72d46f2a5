package mcp_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestInputRequiredError(t *testing.T) {
	var err error = &mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("name", "Who?"), mcp.Ask("age", "How old?")}}
	assert.EqualError(t, err, "client input required: name, age")
}

func TestInputRequiredResultStrict(t *testing.T) {
	everything := mcp.ClientCapabilities{ElicitationForm: true, Sampling: true, Roots: true}
	tests := []struct {
		name  string
		asked mcp.InputRequired
		want  string
	}{
		{
			"a plain question is a form with one field",
			mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("name", "Who?")}},
			`{"inputRequests":{"name":{"method":"elicitation/create","params":{"mode":"form","message":"Who?",` +
				`"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}}}`,
		},
		{
			"a form",
			mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Form("f", "Fill in", mcp.Field{Name: "n", Type: mcp.IntegerField})}, State: "s"},
			`{"inputRequests":{"f":{"method":"elicitation/create","params":{"mode":"form","message":"Fill in",` +
				`"requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}}},"requestState":"s"}`,
		},
		{
			"a form without fields still has properties",
			mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Form("f", "Sure?")}},
			`{"inputRequests":{"f":{"method":"elicitation/create","params":{"mode":"form","message":"Sure?",` +
				`"requestedSchema":{"type":"object","properties":{}}}}}}`,
		},
		{
			"all kinds at once, in the order of their ids",
			mcp.InputRequired{Requests: []mcp.InputRequest{
				mcp.ListRoots("z"),
				mcp.Sample("a", mcp.SamplingParams{MaxTokens: 1}),
			}},
			`{"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}},"z":{"method":"roots/list"}}}`,
		},
		{"state alone", mcp.InputRequired{State: "s"}, `{"requestState":"s"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result, err := test.asked.Result(mcp.Strict, everything)
			require.NoError(t, err)
			assertJSON(t, test.want, result)
		})
	}
}

func TestInputRequiredResultContract(t *testing.T) {
	const content = `"content":[{"type":"text","text":"Additional client input is required before this tool can finish."}]`
	asked := mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("name", "Who?"), mcp.ListRoots("r")}, State: "s"}
	result, err := asked.Result(mcp.Contract, mcp.ClientCapabilities{})
	require.NoError(t, err, "this profile declares no capabilities")
	assertJSON(t, `{"requests":[{"id":"name","prompt":"Who?"},{"id":"r","method":"roots/list"}],"requestState":"s",`+content+`}`, result)

	result, err = (&mcp.InputRequired{}).Result(mcp.Contract, mcp.ClientCapabilities{})
	require.NoError(t, err)
	assertJSON(t, `{"requests":[],`+content+`}`, result)
}

func TestInputRequiredResultRefusesUndeclared(t *testing.T) {
	withoutSubCapabilities := mcp.ClientCapabilities{ElicitationForm: true, Sampling: true}
	form, sampling, roots := mcp.Ask("q", "?"), mcp.Sample("s", mcp.SamplingParams{}), mcp.ListRoots("r")
	tests := []struct {
		requests []mcp.InputRequest
		declared mcp.ClientCapabilities
		want     string
	}{
		{[]mcp.InputRequest{form}, mcp.ClientCapabilities{}, `{"elicitation":{"form":{}}}`},
		{[]mcp.InputRequest{form}, mcp.ClientCapabilities{ElicitationURL: true, Sampling: true, Roots: true}, `{"elicitation":{"form":{}}}`},
		{[]mcp.InputRequest{sampling}, mcp.ClientCapabilities{ElicitationForm: true, Roots: true}, `{"sampling":{}}`},
		{[]mcp.InputRequest{roots}, mcp.ClientCapabilities{ElicitationForm: true, Sampling: true}, `{"roots":{}}`},
		{[]mcp.InputRequest{form, sampling, roots}, mcp.ClientCapabilities{Sampling: true}, `{"elicitation":{"form":{}},"roots":{}}`},
		{[]mcp.InputRequest{{ID: "x", Method: "own/method"}}, mcp.ClientCapabilities{ElicitationForm: true}, `{"own/method":{}}`},
		{[]mcp.InputRequest{mcp.Visit("v", "Look", "https://example.com")}, withoutSubCapabilities, `{"elicitation":{"url":{}}}`},
		{[]mcp.InputRequest{mcp.Sample("s", mcp.SamplingParams{Tools: []mcp.Tool{{Name: "t"}}})}, withoutSubCapabilities, `{"sampling":{"tools":{}}}`},
		{[]mcp.InputRequest{{ID: "v", Method: mcp.MethodElicit, Params: map[string]any{"mode": "url"}}}, withoutSubCapabilities, `{"elicitation":{"url":{}}}`},
		{[]mcp.InputRequest{{ID: "v", Method: mcp.MethodElicit, Params: map[string]any{"mode": "own"}}}, withoutSubCapabilities, `{"elicitation":{"own":{}}}`},
		{[]mcp.InputRequest{{ID: "s", Method: mcp.MethodCreateMessage, Params: map[string]any{"tools": []any{}}}}, withoutSubCapabilities, `{"sampling":{"tools":{}}}`},
	}
	for _, test := range tests {
		result, err := (&mcp.InputRequired{Requests: test.requests, State: "s"}).Result(mcp.Strict, test.declared)
		var refusal *jsonrpc.Error
		require.ErrorAs(t, err, &refusal, test.want)
		assert.Nil(t, result)
		assert.Equal(t, mcp.CodeMissingCapability, refusal.Code)
		assertJSON(t, `{"requiredCapabilities":`+test.want+`}`, refusal.Data)
	}
}

func TestInputRequiredThatAsksForNothing(t *testing.T) {
	result, err := (&mcp.InputRequired{}).Result(mcp.Strict, mcp.ClientCapabilities{})
	require.Error(t, err)
	assert.Nil(t, result)
	var shown *jsonrpc.Error
	assert.NotErrorAs(t, err, &shown, "the cause is logged, and the client is told of an internal error")
}

// The keys of the requests are unique, so that one of the two would get lost.
func TestInputRequiredThatUsesAnIDTwice(t *testing.T) {
	asked := mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("a", "Who?"), mcp.Ask("a", "How old?")}}
	_, err := asked.Result(mcp.Strict, mcp.ClientCapabilities{ElicitationForm: true})
	assert.EqualError(t, err, "a handler asked for two inputs with the id a")
}

func TestRequire(t *testing.T) {
	visit := mcp.Visit("v", "Look", "https://example.com")
	tools := mcp.Sample("s", mcp.SamplingParams{ToolChoice: &mcp.ToolChoice{Mode: "auto"}})
	declared := &mcp.Call{Capabilities: mcp.ClientCapabilities{ElicitationURL: true, Sampling: true, SamplingTools: true}}
	assert.NoError(t, declared.Require(visit))
	assert.NoError(t, declared.Require(tools))
	less := &mcp.Call{Capabilities: mcp.ClientCapabilities{ElicitationForm: true, Sampling: true}}
	for want, r := range map[string]mcp.InputRequest{`{"elicitation":{"url":{}}}`: visit, `{"sampling":{"tools":{}}}`: tools} {
		var refused *jsonrpc.Error
		require.ErrorAs(t, less.Require(r), &refused)
		assert.Equal(t, mcp.CodeMissingCapability, refused.Code)
		assertJSON(t, `{"requiredCapabilities":`+want+`}`, refused.Data)
	}
}

// callWith returns the call of a request with the given members of params.
func callWith(t *testing.T, members string) (*mcp.Call, *jsonrpc.Error) {
	t.Helper()
	return mcp.NewCall(parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+members+`}}`), mcp.CallConfig{})
}

func TestNewCall(t *testing.T) {
	req := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"inputResponses":{"q":"yes","r":{"a": 1}},`+
		`"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}`)
	req.Principal = "alice"
	call, err := mcp.NewCall(req, mcp.CallConfig{State: "st", Answers: mcp.InputResponses{"q": jsontext.Value(`"no"`), "s": jsontext.Value(`"kept"`)}})
	require.Nil(t, err)
	assert.Equal(t, "alice", call.Principal)
	assert.Equal(t, mcp.ClientCapabilities{Roots: true}, call.Capabilities)
	assert.Equal(t, "st", call.RequestState)
	assert.Equal(t, mcp.InputResponses{
		"q": jsontext.Value(`"yes"`), "r": jsontext.Value(`{"a": 1}`), "s": jsontext.Value(`"kept"`),
	}, call.InputResponses, "newer answers win")

	for _, absent := range []string{``, `"inputResponses":null`, `"inputResponses":{}`} {
		call, err := callWith(t, absent)
		require.Nil(t, err, absent)
		assert.Empty(t, call.RequestState)
		assert.Empty(t, call.InputResponses)
	}
	for _, wrong := range []string{
		`"inputResponses":[]`, `"inputResponses":"yes"`, `"inputResponses":0`,
	} {
		call, err := callWith(t, wrong)
		require.NotNil(t, err, wrong)
		assert.Nil(t, call)
		assert.Equal(t, jsonrpc.CodeInvalidParams, err.Code)
	}
}

func TestElicited(t *testing.T) {
	for answer, want := range map[string]mcp.ElicitResult{
		`{"action":"accept","content":{"a":1}}`:            {Action: "accept", Content: map[string]jsontext.Value{"a": jsontext.Value("1")}},
		`{"action":"accept"}`:                              {Action: "accept"},
		`{"action":"decline","content":null,"_meta":{}}`:   {Action: "decline"},
		`{"action":"cancel","content":{},"whatever":[{}]}`: {Action: "cancel", Content: map[string]jsontext.Value{}},
	} {
		got, ok := mcp.InputResponses{"f": jsontext.Value(answer)}.Elicited("f")
		assert.True(t, ok, answer)
		assert.Equal(t, want, got)
		assert.Equal(t, want.Action == "accept", got.Accepted())
	}
	for _, answer := range []string{
		`null`, `7`, `"accept"`, `[]`, `{}`, `{"action":"maybe"}`, `{"action":7}`, `{"ACTION":"accept"}`, `{"action":null}`,
		`{"action":"accept","content":[]}`, `{"action":"accept","content":"x"}`,
	} {
		got, ok := mcp.InputResponses{"f": jsontext.Value(answer)}.Elicited("f")
		assert.False(t, ok, answer)
		assert.Equal(t, mcp.ElicitResult{}, got)
	}
	_, ok := mcp.InputResponses{}.Elicited("f")
	assert.False(t, ok)
	_, ok = mcp.InputResponses(nil).Elicited("f")
	assert.False(t, ok)
}

func TestTextAnswers(t *testing.T) {
	tests := []struct {
		answer, want string
		ok           bool
	}{
		{`"yes \u0021"`, "yes !", true},
		{`""`, "", true},
		{`{"action":"accept","content":{"q":"yes"}}`, "yes", true},
		{`{"action":"accept","content":{"q":7}}`, "", false},
		{`{"action":"accept","content":{"other":"yes"}}`, "", false},
		{`{"action":"accept"}`, "", false},
		{`{"action":"decline","content":{"q":"yes"}}`, "", false},
		{`{"action":"cancel"}`, "", false},
		{`7`, "", false}, {`null`, "", false}, {`["yes"]`, "", false},
	}
	for _, test := range tests {
		got, ok := mcp.InputResponses{"q": jsontext.Value(test.answer)}.Text("q")
		assert.Equal(t, test.ok, ok, test.answer)
		assert.Equal(t, test.want, got, test.answer)
	}
	_, ok := mcp.InputResponses(nil).Text("q")
	assert.False(t, ok)
}
