package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// publishing returns what a dispatcher of toolset has, which publishes to events.
func publishing(toolset mcp.Toolset, events func(mcp.Event)) dispatch.Config {
	return dispatch.Config{Toolsets: []mcp.Toolset{toolset}, Events: events}
}

func nowhere(mcp.Event) {}

func listenTo(notifications string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":%s,%s}}`, notifications, strictMeta)
}

// A pool honours what it has, and says so in discovery and to those who listen.
func TestWhatCanBeListenedFor(t *testing.T) {
	const everything = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["mem://a"]}`
	echo := []mcp.ServerTool{tool("echo", anyObject, returns("", nil))}
	tests := []struct {
		name                   string
		toolset                mcp.Toolset
		capabilities, honoured string // the first as far as they are about this
	}{
		{"tools", mcp.Toolset{Tools: echo}, `{"tools":{"listChanged":true}`, `{"toolsListChanged":true}`},
		{"prompts", mcp.Toolset{Prompts: []mcp.ServerPrompt{prompt("p", nil)}}, `{"prompts":{"listChanged":true}`, `{"promptsListChanged":true}`},
		{"resources", mcp.Toolset{Resources: memory{}}, `{"resources":{"subscribe":true,"listChanged":true}`,
			`{"resourcesListChanged":true,"resourceSubscriptions":["mem://a"]}`},
		{"all", mcp.Toolset{Tools: echo, Prompts: []mcp.ServerPrompt{prompt("p", nil)}, Resources: memory{}},
			`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true}`, everything},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDispatcher(t, publishing(tt.toolset, nowhere))
			discovered := handle(t, d, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+strictMeta+`}}`)
			assert.Contains(t, discovered, `"capabilities":`+tt.capabilities)
			assert.Equal(t, strings.Count(tt.capabilities, "true"), strings.Count(discovered, "true"), discovered)
			answer := handle(t, d, mcp.Strict, listenTo(everything))
			assert.Contains(t, answer, `"resultType":"complete"`)
			assert.Contains(t, answer, `"notifications":`+tt.honoured+`}`)
			assert.Contains(t, handle(t, d, mcp.Strict, listenTo(`{}`)), `"notifications":{}`)
			assert.Contains(t, handle(t, d, mcp.Contract, listenTo(everything)), `"code":-32601`)
		})
	}
}

// Without a publisher nothing is declared, and nobody can listen.
func TestNothingToListenFor(t *testing.T) {
	for name, cfg := range map[string]dispatch.Config{
		"no publisher": publishing(mcp.Toolset{Tools: []mcp.ServerTool{tool("echo", anyObject, returns("", nil))}, Resources: memory{}}, nil),
		"no features":  publishing(mcp.Toolset{}, nowhere),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDispatcher(t, cfg)
			discovered := handle(t, d, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+strictMeta+`}}`)
			assert.NotContains(t, discovered, `listChanged`)
			assert.NotContains(t, discovered, `subscribe`)
			assert.Contains(t, handle(t, d, mcp.Strict, listenTo(`{"toolsListChanged":true}`)), `"code":-32601`)
		})
	}
}

func TestToolsPublish(t *testing.T) {
	var published []mcp.Event
	change := tool("change", anyObject, func(_ context.Context, call *mcp.ToolCall) (any, error) {
		call.Publish(mcp.ToolsListChanged())
		call.Publish(mcp.ResourceUpdated("mem://a"))
		return "changed", nil
	})
	toolset := mcp.Toolset{Tools: []mcp.ServerTool{change}}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"change","arguments":{},` + strictMeta + `}}`
	d := newDispatcher(t, publishing(toolset, func(e mcp.Event) { published = append(published, e) }))
	require.Contains(t, handle(t, d, mcp.Strict, call), "changed")
	assert.Equal(t, []mcp.Event{mcp.ToolsListChanged(), mcp.ResourceUpdated("mem://a")}, published)
	assert.Contains(t, handle(t, newDispatcher(t, publishing(toolset, nil)), mcp.Strict, call), "changed")
}
