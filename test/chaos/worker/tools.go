package main

import (
	"context"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

// toolset has tools that take their time and then answer with the text that they
// were given, as tasks for clients that support them. They differ in what a client
// and an ingress may expect of them.
func toolset(j *journal.Writer) mcp.Toolset {
	return mcp.Toolset{Name: "chaos", Tools: []mcp.ServerTool{
		tool(j, mcp.Tool{Name: "write", Description: "Must not run twice."}, heeding),
		tool(j, mcp.Tool{Name: "read", Description: "May run twice.", Annotations: tools.ReadOnly()}, heeding),
		tool(j, mcp.Tool{Name: "stubborn", Description: "Ignores the end of its context."}, ignoring),
	}}
}

const schema = `{
	"type": "object",
	"properties": {
		"call": {"type": "string", "description": "The call's name in the journal."},
		"ms": {"type": "number", "description": "How long it takes, in milliseconds."},
		"text": {"type": "string", "description": "The answer."}
	},
	"required": ["call", "ms", "text"],
	"additionalProperties": false
}`

type arguments struct {
	Call string  `json:"call"`
	MS   float64 `json:"ms"`
	Text string  `json:"text"`
}

func tool(j *journal.Writer, def mcp.Tool, ended func(context.Context) <-chan struct{}) mcp.ServerTool {
	def.InputSchema = []byte(schema)
	t := tools.New(def, func(ctx context.Context, _ *mcp.ToolCall, in arguments) (string, error) {
		if err := j.Write(journal.Started, in.Call); err != nil {
			return "", err
		}
		select {
		case <-time.After(time.Duration(in.MS * float64(time.Millisecond))):
			return in.Text, j.Write(journal.Finished, in.Call)
		case <-ended(ctx):
			if err := j.Write(journal.Ended, in.Call); err != nil {
				return "", err
			}
			return "", context.Cause(ctx)
		}
	})
	t.Task.Mode = mcp.TaskOptional
	return t
}

// heeding and ignoring are what a tool does about the end of its context.
func heeding(ctx context.Context) <-chan struct{} { return ctx.Done() }
func ignoring(context.Context) <-chan struct{}    { return nil }
