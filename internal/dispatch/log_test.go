package dispatch_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// talkative returns a toolset with a tool that logs, which says so or does not.
func talkative(declared bool) mcp.Toolset {
	return mcp.Toolset{
		Logs: declared,
		Tools: []mcp.ServerTool{tool("talk", anyObject, func(_ context.Context, call *mcp.ToolCall) (any, error) {
			call.Log(mcp.LogDebug, "talk", "starting")
			call.Log(mcp.LogWarning, "talk", map[string]any{"disk": "nearly full"})
			return "done", nil
		})},
	}
}

// A server that logs declares it, and one of which no toolset does so does not
// log.
//
// Spec: MCP 2026-07-28, Logging, Capabilities and Per-request log level.
func TestLogging(t *testing.T) {
	const warning = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"talk","data":{"disk":"nearly full"}}}`
	const debug = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","logger":"talk","data":"starting"}}`
	for _, test := range []struct {
		declared, byAnother bool
		level               string
		want                []string
	}{
		{true, false, "debug", []string{debug, warning}},
		{true, false, "warning", []string{warning}},
		{true, false, "error", nil},
		{true, false, "", nil},
		{false, true, "warning", []string{warning}},
		{false, false, "debug", nil},
	} {
		d := newDispatcher(t, dispatch.Config{Toolsets: []mcp.Toolset{talkative(test.declared), {Logs: test.byAnother}}})
		discovered := handle(t, d, mcp.Strict, strictRequest(`1`, mcp.MethodDiscover, `"x":1`))
		assert.Equal(t, test.declared || test.byAnother, strings.Contains(discovered, `"capabilities":{"tools":{},"logging":{}}`), discovered)

		req := parse(t, mcp.Strict, strictRequest(`1`, mcp.MethodToolsCall, `"name":"talk"`))
		if test.level != "" {
			req = parse(t, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk","_meta":{`+
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
				`"io.modelcontextprotocol/logLevel":"`+test.level+`"}}}`)
		}
		var sent []string
		res := d.Handle(t.Context(), req, func(n []byte) { sent = append(sent, string(n)) })
		assert.Contains(t, string(res.Body), `"text":"done"`)
		assert.Equal(t, test.want, sent)
	}
}
