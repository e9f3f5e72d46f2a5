package everything

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

const slowInput = `{
	"type": "object",
	"properties": {
		"seconds": {"type": "number", "minimum": 0, "maximum": 3600, "description": "How long to work."},
		"label": {"type": "string", "description": "What to call the work."}
	}
}`

const fileInput = `{
	"type": "object",
	"properties": {"filename": {"type": "string", "description": "What to pretend to delete."}},
	"required": ["filename"]
}`

// taskTools become tasks for clients that support them. None of them does
// anything, so that it does no harm to run them again.
func taskTools() []mcp.ServerTool {
	type work struct {
		Seconds float64 `json:"seconds"`
		Label   string  `json:"label"`
	}
	type file struct {
		Filename string `json:"filename"`
	}
	optional, required := mcp.TaskPolicy{Mode: mcp.TaskOptional}, mcp.TaskPolicy{Mode: mcp.TaskRequired}
	return []mcp.ServerTool{
		as(optional, tools.New(mcp.Tool{
			Name: "slow_compute", Description: "Works for as long as it is told.",
			InputSchema: jsontext.Value(slowInput), Annotations: tools.ReadOnly(),
		}, func(ctx context.Context, call *mcp.ToolCall, in work) (string, error) {
			if err := workFor(ctx, call.Call, time.Duration(in.Seconds*float64(time.Second))); err != nil {
				return "", err
			}
			return fmt.Sprintf("Worked for %g seconds: %s", in.Seconds, in.Label), nil
		})),
		as(optional, tools.New(mcp.Tool{
			Name: "confirm_delete", Description: "Asks whether to delete a file, and deletes nothing.",
			InputSchema: jsontext.Value(fileInput), Annotations: tools.ReadOnly(),
		}, func(_ context.Context, call *mcp.ToolCall, in file) (string, error) {
			return confirmDelete(call.Call, in.Filename)
		})),
		as(required, simple("failing_job", "Fails with a tool error, as a task.",
			func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
				return nil, errors.New("this job always fails")
			})),
		as(optional, simple("protocol_error_job", "Fails with an error of the protocol.",
			func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInternalError, "Internal error: this job always fails so")
			})),
		as(optional, simple("multi_input", "Asks two things at once.", asks(nameForm(), confirmForm("confirm", "Shall this go on?")))),
		// It asks before it becomes a task, and works long enough to become one then.
		as(mcp.TaskPolicy{Mode: mcp.TaskOptional, After: 20 * time.Millisecond},
			simple("test_tool_with_task", "Asks for a name, and then greets as a task.", greetLate)),
	}
}

func as(policy mcp.TaskPolicy, t mcp.ServerTool) mcp.ServerTool {
	t.Task = policy
	return t
}

// workFor waits, and tells every second how far it is.
func workFor(ctx context.Context, call *mcp.Call, d time.Duration) error {
	start := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.After(d); ; {
		select {
		case <-end:
			return nil
		case <-tick.C:
			call.Progress(time.Since(start).Seconds(), d.Seconds(), fmt.Sprintf("%.0f of %g seconds", time.Since(start).Seconds(), d.Seconds()))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func confirmForm(id, question string) mcp.InputRequest {
	return mcp.Form(id, question, mcp.Field{Name: "confirm", Type: mcp.BooleanField, Required: true})
}

func confirmDelete(call *mcp.Call, filename string) (string, error) {
	const id = "confirm"
	if err := call.Input(confirmForm(id, fmt.Sprintf("Delete %q?", filename))); err != nil {
		return "", err
	}
	answer, _ := call.InputResponses.Elicited(id)
	if !answer.Accepted() || string(answer.Content["confirm"]) != "true" {
		return "Nothing was deleted.", nil
	}
	return fmt.Sprintf("Pretended to delete %q.", filename), nil
}

func greetLate(ctx context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
	const id = "user_name"
	if err := call.Input(nameForm()); err != nil {
		return nil, err
	}
	name := "whoever you are"
	if answer, ok := call.InputResponses.Elicited(id); ok && answer.Accepted() {
		name, _ = mcp.Text(answer.Content["name"])
	}
	if err := workFor(ctx, call, 300*time.Millisecond); err != nil {
		return nil, err
	}
	return text("Hello, " + name + "!"), nil
}
