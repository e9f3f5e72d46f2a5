package dispatch_test

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestRepeatable(t *testing.T) {
	tool := func(name string, a *mcp.ToolAnnotations) mcp.ServerTool {
		return mcp.ServerTool{
			Tool: mcp.Tool{Name: name, InputSchema: jsontext.Value(`{"type":"object"}`), Annotations: a},
			Run:  func(context.Context, *mcp.ToolCall) (any, error) { return "", nil },
		}
	}
	d := newDispatcher(t, dispatch.Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{
		tool("silent", nil),
		tool("unmarked", &mcp.ToolAnnotations{Destructive: new(false)}),
		tool("writes", &mcp.ToolAnnotations{ReadOnly: new(false), Idempotent: new(false)}),
		tool("reads", &mcp.ToolAnnotations{ReadOnly: new(true)}),
		tool("idempotent", &mcp.ToolAnnotations{Idempotent: new(true)}),
	}}}})
	for name, want := range map[string]bool{
		"silent": false, "unmarked": false, "writes": false, "reads": true, "idempotent": true, "no such tool": false,
	} {
		req := parse(t, mcp.Contract, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`"}}`)
		assert.Equal(t, want, d.Repeatable(req), name)
	}
	assert.True(t, d.Repeatable(parse(t, mcp.Contract, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
}
