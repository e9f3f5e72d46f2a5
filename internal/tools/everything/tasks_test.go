package everything_test

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Without tasks the tools that need not run as one answer as tools do.
func TestTaskToolsWithoutTasks(t *testing.T) {
	s := newServer(t)
	assert.Equal(t, "Worked for 0 seconds: a", first(t, s.call(t, "slow_compute", `"arguments":{"seconds":0,"label":"a"},`), "content")["text"])
	_, fault := s.ask(t, "tools/call", `"name":"protocol_error_job",`, allCapabilities, "")
	assert.EqualValues(t, -32603, fault["code"])
	for tool, answers := range map[string]string{
		"confirm_delete":      `"confirm":{"action":"accept","content":{"confirm":true}}`,
		"multi_input":         `"user_name":{"action":"accept","content":{"name":"Ada"}},"confirm":{"action":"accept","content":{"confirm":true}}`,
		"test_tool_with_task": `"user_name":{"action":"accept","content":{"name":"Ada"}}`,
	} {
		const arguments = `"arguments":{"filename":"x"},`
		given := map[bool]string{true: arguments}[tool == "confirm_delete"]
		assert.Equal(t, "input_required", s.call(t, tool, given)["resultType"], tool)
		assert.Equal(t, false, s.call(t, tool, given+`"inputResponses":{`+answers+`},`)["isError"], tool)
	}
}

// As tasks they end as their names say.
func TestTaskTools(t *testing.T) {
	s := newServer(t)
	run := func(tool, arguments string, answers mcp.InputResponses) mcp.TaskOutcome {
		return s.RunTask(t.Context(), &mcp.TaskWork{
			Tool: tool, Arguments: jsontext.Value(arguments), Answers: answers, Capabilities: mcp.ClientCapabilities{ElicitationForm: true},
		}, func(string) {})
	}
	text := func(out mcp.TaskOutcome) any {
		var result object
		require.NoError(t, json.Unmarshal(out.Result, &result))
		return first(t, result, "content")["text"]
	}
	form := func(content string) jsontext.Value {
		return jsontext.Value(`{"action":"accept","content":{` + content + `}}`)
	}
	assert.Equal(t, -32603, run("protocol_error_job", `{}`, nil).Err.Code)
	assert.Len(t, run("multi_input", `{}`, nil).Ask, 2)
	assert.Len(t, run("multi_input", `{}`, mcp.InputResponses{"confirm": form(`"confirm":true`)}).Ask, 1)
	for content, want := range map[string]string{`"confirm":true`: `Pretended to delete "x".`, `"confirm":false`: "Nothing was deleted."} {
		assert.Equal(t, want, text(run("confirm_delete", `{"filename":"x"}`, mcp.InputResponses{"confirm": form(content)})))
	}
	assert.Equal(t, "Hello, Ada!", text(run("test_tool_with_task", `{}`, mcp.InputResponses{"user_name": form(`"name":"Ada"`)})))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := s.RunTask(ctx, &mcp.TaskWork{Tool: "slow_compute", Arguments: jsontext.Value(`{"seconds":3600}`)}, func(string) {})
	assert.True(t, out.IsError)
}
