// Package everything has one tool, prompt and resource for each feature of the
// protocol, for testing clients and this server: the names and behaviour are
// those that the official conformance suite asks for. It is also the place to
// look for how a feature is used. Each file shows one family of them.
//
// Start at Toolset.
package everything

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// Toolset returns all of it. Nothing is kept and nothing changes: what looks
// like a change is only announced.
func Toolset() mcp.Toolset {
	return mcp.Toolset{
		Name:              "everything",
		Instructions:      "Tools, prompts and resources whose names begin with test are for testing clients and do nothing useful.",
		Tools:             slices.Concat(contentTools(), reportTools(), schemaTools(), headerTools(), inputTools(), changeTools(), taskTools()),
		Prompts:           prompts(),
		Resources:         resources{},
		ResourceListCache: mcp.Cache{TTL: time.Minute, Public: true},
		Logs:              true,
	}
}

// noArguments is the schema of tools that take none.
const noArguments = `{"type":"object","additionalProperties":false}`

// A run is the function of a tool without arguments.
type run = func(ctx context.Context, call *mcp.Call) (*mcp.ToolResult, error)

// simple returns a tool without arguments.
func simple(name, description string, run run) mcp.ServerTool {
	return tools.New(mcp.Tool{
		Name:        name,
		Description: description,
		InputSchema: jsontext.Value(noArguments),
		Annotations: tools.ReadOnly(),
	}, func(ctx context.Context, call *mcp.ToolCall, _ struct{}) (*mcp.ToolResult, error) {
		return run(ctx, call.Call)
	})
}

// content returns a result of blocks.
func content(blocks ...mcp.Content) *mcp.ToolResult { return &mcp.ToolResult{Content: blocks} }

// text returns a result of one text.
func text(s string) *mcp.ToolResult { return content(mcp.TextContent(s)) }
