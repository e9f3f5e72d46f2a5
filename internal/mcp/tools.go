package mcp

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// A Tool is a tool's definition, as tools/list shows it.
//
// Spec: MCP 2026-07-28, Tools, Tool.
type Tool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitzero"`
	Description  string           `json:"description,omitzero"`
	InputSchema  jsontext.Value   `json:"inputSchema"`
	OutputSchema jsontext.Value   `json:"outputSchema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
	Icons        []Icon           `json:"icons,omitempty"`
}

// ToolAnnotations say what a tool does to its environment. A nil pointer leaves
// the client to the default, which is the worst case. Clients decide by them what
// to ask their user, and whether a call whose outcome is unknown is safe to send
// again, so they must be honest. So does this program: after a worker was lost it
// runs calls again of tools that read only or are idempotent, and of no others.
//
// Spec: schema, ToolAnnotations.
type ToolAnnotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitzero"`
	Destructive *bool `json:"destructiveHint,omitzero"` // default true
	Idempotent  *bool `json:"idempotentHint,omitzero"`
	OpenWorld   *bool `json:"openWorldHint,omitzero"` // default true
}

// A ToolCall is a call of one tool whose arguments have been validated against
// its input schema.
type ToolCall struct {
	*Call
	Arguments jsontext.Value // the object as the client sent it, {} if it sent none
	Values    map[string]any // the same decoded, numbers as json.Number
}

// A ServerTool is a tool and the function that runs it.
//
// Run returns the tool's output: a string, a *ToolResult, or any value that
// encodes as JSON, which becomes text and, if there is an output schema,
// structured content. An *InputRequired error asks the client for input, a
// *jsonrpc.Error is answered as it is, and any other error is shown to the
// model, as is a panic. Run must return soon after ctx ends; it is called
// concurrently.
//
// Task says whether calls become tasks; the zero value is that they never do. Run
// is the same function either way. In a task, an *InputRequired error makes the
// task wait for the client and Run is called again with the answers, perhaps by
// another process; progress becomes the task's status message.
type ServerTool struct {
	Tool
	Task TaskPolicy
	Run  func(ctx context.Context, call *ToolCall) (any, error)
}

// A ToolResult is an output of several blocks, or one that failed with more
// than a message.
type ToolResult struct {
	Content    []Content `json:"content"`
	Structured any       `json:"structuredContent,omitzero"`
	IsError    bool      `json:"isError,omitzero"`
}
