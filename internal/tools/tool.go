// Package tools makes MCP tools from typed Go functions. Its sub-packages are
// the tools themselves, each a function that returns an mcp.Toolset; nothing
// registers itself.
//
// Start at New.
package tools

import (
	"context"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// New returns the tool that def describes and run answers. What run returns
// means what it means for mcp.ServerTool, and run is called concurrently.
//
// The arguments are decoded into In after they were validated. A member goes to
// the field of exactly its name, case included, because a decoder that takes
// "Name" for "name" would hand run a value that the schema has not seen.
// Arguments that In cannot hold are a tool error.
func New[In, Out any](def mcp.Tool, run func(ctx context.Context, call *mcp.ToolCall, in In) (Out, error)) mcp.ServerTool {
	decoder := newDecoder[In]()
	return mcp.ServerTool{Tool: def, Run: func(ctx context.Context, call *mcp.ToolCall) (any, error) {
		in, err := decoder.decode(call)
		if err != nil {
			return nil, err
		}
		out, err := run(ctx, call, in)
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

// ReadOnly returns the annotations of a tool that changes nothing and deals
// with nothing outside its server. A lost call of it is safe to send again.
func ReadOnly() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnly:    new(true),
		Destructive: new(false),
		Idempotent:  new(true),
		OpenWorld:   new(false),
	}
}
