package mcp_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// parse returns the request that text is.
func parse(t *testing.T, text string) *mcp.Request {
	t.Helper()
	req, err := mcp.ParseRequest([]byte(text))
	require.Nil(t, err, text)
	return req
}

// parseMeta returns a request with the given _meta.
func parseMeta(t *testing.T, meta string) *mcp.Request {
	t.Helper()
	return parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":`+meta+`}}`)
}

func TestParseRequest(t *testing.T) {
	text := `{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{
		"name":"echo", "uri":"u", "cursor":"c", "arguments":{"a": 1}, "inputResponses":{"q":"yes"}, "requestState":"s", "requestId":3,
		"other":[1], "_meta":{
			"io.modelcontextprotocol/protocolVersion":"2026-07-28",
			"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"},
			"io.modelcontextprotocol/clientCapabilities":{"roots":{}},
			"progressToken":"tok", "traceparent":"00-aa-bb-01", "com.example/own":{"x":1,"X":2}}}}`
	req := parse(t, text)
	assert.Equal(t, jsonrpc.Request{ID: `"7"`, Method: "tools/call"}, req.Request)
	assert.Equal(t, mcp.Params{
		Name: jsontext.Value(`"echo"`), URI: jsontext.Value(`"u"`), Cursor: jsontext.Value(`"c"`), Arguments: jsontext.Value(`{"a": 1}`),
		InputResponses: jsontext.Value(`{"q":"yes"}`), RequestState: jsontext.Value(`"s"`), RequestID: jsontext.Value(`3`),
	}, req.Params)
	assert.Equal(t, "2026-07-28", req.Meta.ProtocolVersion)
	assert.Equal(t, mcp.ClientCapabilities{Roots: true}, req.Meta.Capabilities)
	assert.Equal(t, jsontext.Value(`"tok"`), req.Meta.ProgressToken)
	assert.Equal(t, text, string(req.Raw))
	assert.False(t, req.IsNotification())
	assert.Nil(t, req.ValidateMeta())
	assert.Nil(t, req.ValidateVersion())
}

func TestParseRequestWithoutParams(t *testing.T) {
	req := parse(t, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
	assert.True(t, req.IsNotification())
	assert.Equal(t, mcp.Params{}, req.Params)
	assert.Equal(t, mcp.Strict, req.Profile)
}

func TestParseRequestRefuses(t *testing.T) {
	for text, want := range map[string]int{
		`{`: jsonrpc.CodeParseError, `[]`: jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"name":"a","name":"b"}}`:                                               jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"name":"a","Name":"b"}}`:                                               jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"_meta":{},"_META":{}}}`:                                               jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"_meta":{"progressToken":1,"progresstoken":2}}}`:                       jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"_meta":{"traceparent":"a","traceparent":"b"}}}`:                       jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"arguments":{"a":1,"a":2}}}`:                                           jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","_meta":{"protocolVersion":"2026-07-28","ProtocolVersion":"1"}}`:                 jsonrpc.CodeInvalidRequest,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"_meta":{"progressToken":}}}`:                                          jsonrpc.CodeParseError,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":tru}}}}`:         jsonrpc.CodeParseError,
		`{"jsonrpc":"2.0","id":"x","method":"m","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":[}}}}}`: jsonrpc.CodeParseError,
	} {
		req, err := mcp.ParseRequest([]byte(text))
		require.NotNil(t, err, text)
		assert.Equal(t, want, err.Code, text)
		require.NotNil(t, req)
		if strings.Contains(text, `"x"`) {
			assert.Equal(t, jsonrpc.ID(`"x"`), req.ID, text)
		}
	}
}

func TestParseRequestLeavesArgumentsTheirCase(t *testing.T) {
	req := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"path":1,"Path":2}}}`)
	assert.Equal(t, `{"path":1,"Path":2}`, string(req.Params.Arguments))
}

func TestTarget(t *testing.T) {
	tests := []struct {
		method, params, want string
		ok                   bool
	}{
		{"tools/call", `{"name":"echo"}`, "echo", true},
		{"tools/call", `{"name":"\u0065cho \ud83d\ude00"}`, "echo 😀", true},
		{"tools/call", `{"name":""}`, "", true},
		{"tools/call", `{"name":7}`, "", false},
		{"tools/call", `{"name":null}`, "", false},
		{"tools/call", `{"name":["echo"]}`, "", false},
		{"tools/call", `{"uri":"file:///a"}`, "", false},
		{"tools/call", `{}`, "", false},
		{"prompts/get", `{"name":"greet"}`, "greet", true},
		{"resources/read", `{"uri":"file:///a","name":"n"}`, "file:///a", true},
		{"resources/read", `{"name":"n"}`, "", false},
		{"tools/list", `{"name":"echo"}`, "", false},
		{"tools/Call", `{"name":"echo"}`, "", false},
	}
	for _, test := range tests {
		req := parse(t, `{"jsonrpc":"2.0","id":1,"method":"`+test.method+`","params":`+test.params+`}`)
		got, ok := req.Target()
		assert.Equal(t, test.ok, ok, "%s %s", test.method, test.params)
		assert.Equal(t, test.want, got)
	}
}

func TestProfileString(t *testing.T) {
	assert.Equal(t, "strict", mcp.Strict.String())
	assert.Equal(t, "contract", mcp.Contract.String())
}

func TestTextAndIsAbsent(t *testing.T) {
	tests := []struct {
		raw, text  string
		ok, absent bool
	}{
		{``, "", false, true}, {`null`, "", false, true}, {`"a\u0062"`, "ab", true, false}, {`""`, "", true, false},
		{`1`, "", false, false}, {`{}`, "", false, false}, {`true`, "", false, false},
	}
	for _, test := range tests {
		text, ok := mcp.Text(jsontext.Value(test.raw))
		assert.Equal(t, test.text, text, test.raw)
		assert.Equal(t, test.ok, ok, test.raw)
		assert.Equal(t, test.absent, mcp.IsAbsent(jsontext.Value(test.raw)), test.raw)
	}
	assert.True(t, mcp.IsAbsent(nil))
}
