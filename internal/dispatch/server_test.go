package dispatch_test

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func toolCall(name, arguments string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
}

func echoArguments(_ context.Context, arguments map[string]any, _ mcp.InputResponses) (any, error) {
	return arguments, nil
}

func TestServerAnswers(t *testing.T) {
	s := dispatch.NewServer(slog.New(slog.DiscardHandler))
	require.NoError(t, s.RegisterTool("echo", "Echoes", map[string]any{"type": "object", "required": []string{"n"}}, echoArguments))
	require.NoError(t, s.RegisterTool("fail", "", jsontext.Value(anyObject),
		func(context.Context, map[string]any, mcp.InputResponses) (any, error) {
			return nil, errors.New("no luck")
		}))
	for name, test := range map[string]struct{ request, want string }{
		"list":            {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","description":"Echoes","inputSchema":{"required":["n"],"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}}`},
		"call":            {string(toolCall("echo", `{"n":9007199254740993}`)), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"n\":9007199254740993}"}]}}`},
		"missing":         {string(toolCall("echo", `{}`)), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Missing required argument: n"}],"isError":true}}`},
		"error":           {string(toolCall("fail", `{}`)), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Error: no luck"}],"isError":true}}`},
		"unknown":         {string(toolCall("none", `{}`)), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Tool not found"}],"isError":true}}`},
		"method":          {`{"jsonrpc":"2.0","id":"a","method":"server/discover"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Method not found: server/discover"}}`},
		"not an object":   {`[]`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: batches are not supported, send one request"}}`},
		"notification":    {`{"jsonrpc":"2.0","method":"tools/list"}`, ``},
		"invalid, no id":  {`{"jsonrpc":"1.0","method":"tools/list"}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: the member \"jsonrpc\" must be \"2.0\""}}`},
		"another version": {`{"jsonrpc":"2.0","id":1,"method":"tools/list","_meta":{"protocolVersion":"1"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: unsupported protocol version in _meta.protocolVersion, supported is \"2026-07-28\""}}`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, string(s.HandleRequest(t.Context(), []byte(test.request))))
		})
	}
	assert.Contains(t, string(s.HandleRequest(t.Context(), []byte("nonsense"))), `{"jsonrpc":"2.0","error":{"code":-32700,`)
	assert.Nil(t, s.HandleRequest(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)))
}

func TestRegisterToolRefuses(t *testing.T) {
	s := dispatch.NewServer(slog.New(slog.DiscardHandler))
	require.NoError(t, s.RegisterTool("taken", "", stdjson.RawMessage(anyObject), echoArguments))
	before := s.HandleRequest(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))

	assert.ErrorContains(t, s.RegisterTool("taken", "", jsontext.Value(anyObject), echoArguments), `tool "taken" is registered twice`)
	assert.ErrorContains(t, s.RegisterTool("", "", jsontext.Value(anyObject), echoArguments), `a tool has no name`)
	assert.ErrorContains(t, s.RegisterTool("a", "", jsontext.Value(anyObject), nil), `tool "a": it has no function`)
	assert.ErrorContains(t, s.RegisterTool("b", "", nil, echoArguments), `tool "b": input schema: it must be an object`)
	assert.ErrorContains(t, s.RegisterTool("c", "", func() {}, echoArguments), `tool "c": encode input schema: `)
	assert.ErrorContains(t, s.RegisterTool("d", "", map[string]any{"type": "objet"}, echoArguments), `tool "d": input schema: it is not valid:`)

	assert.Equal(t, before, s.HandleRequest(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
}

// Tools may be registered while requests are answered; each is served from the
// moment on at which its registration has returned.
func TestRegisterToolConcurrently(t *testing.T) {
	s := dispatch.NewServer(slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			name := fmt.Sprintf("tool%d", i)
			assert.NoError(t, s.RegisterTool(name, "", jsontext.Value(anyObject), echoArguments))
			assert.Contains(t, string(s.HandleRequest(t.Context(), toolCall(name, `{"a":1}`))), `"text":"{\"a\":1}"`)
			assert.Contains(t, string(s.HandleRequest(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))), name)
		})
	}
	wg.Wait()
	for i := range 16 {
		assert.NotContains(t, string(s.HandleRequest(t.Context(), toolCall(fmt.Sprintf("tool%d", i), `{}`))), "Tool not found")
	}
}

// The server answers with the same bytes as a dispatcher of the same tools.
func TestServerIsADispatcher(t *testing.T) {
	s := dispatch.NewServer(slog.New(slog.DiscardHandler))
	d := newDispatcher(t, dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{
		tool("echo", textObject, func(_ context.Context, call *mcp.ToolCall) (any, error) { return call.Values, nil }),
	}}}})
	require.NoError(t, s.RegisterTool("echo", "", jsontext.Value(textObject), echoArguments))
	for _, request := range []string{
		string(toolCall("echo", `{"text":"a"}`)), string(toolCall("echo", `{"text":1}`)), string(toolCall("echo", `[]`)),
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
	} {
		assert.Equal(t, handle(t, d, mcp.Contract, request), string(s.HandleRequest(t.Context(), []byte(request))))
	}
}
