// Package basics has tools that need nothing but their arguments: for first
// steps, for tests and for measuring. Start at Toolset.
package basics

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// Toolset returns echo, calculate_sum, divide, delete_resource and slow. None
// of them changes anything.
func Toolset() mcp.Toolset {
	return mcp.Toolset{
		Name: "basics",
		Instructions: "echo, calculate_sum, divide and slow do what their names say. " +
			"delete_resource shows how a tool asks for confirmation and deletes nothing.",
		Tools: []mcp.ServerTool{echo(), calculateSum(), divide(), deleteResource(), slow()},
	}
}

const echoInput = `{
	"type": "object",
	"properties": {
		"text": {"type": "string", "description": "The text to return."}
	},
	"required": ["text"],
	"additionalProperties": false
}`

func echo() mcp.ServerTool {
	type input struct {
		Text string `json:"text"`
	}
	return tools.New(mcp.Tool{
		Name:        "echo",
		Title:       "Echo",
		Description: "Returns the given text unchanged.",
		InputSchema: jsontext.Value(echoInput),
		Annotations: tools.ReadOnly(),
	}, func(_ context.Context, _ *mcp.ToolCall, in input) (string, error) {
		return in.Text, nil
	})
}
