package tools_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

type greeting struct {
	Name  string `json:"name"`
	Times int    `json:"times"`
}

func greet(run func(context.Context, *mcp.ToolCall, greeting) (string, error)) mcp.ServerTool {
	return tools.New(mcp.Tool{Name: "greet", InputSchema: jsontext.Value(`{"type":"object"}`)}, run)
}

func arguments(text string) *mcp.ToolCall {
	return &mcp.ToolCall{Call: &mcp.Call{}, Arguments: jsontext.Value(text)}
}

func TestNewDecodesArguments(t *testing.T) {
	tests := []struct {
		name, arguments string
		want            greeting
	}{
		{"all members", `{"name":"Ada","times":2}`, greeting{"Ada", 2}},
		{"none", `{}`, greeting{}},
		{"a name in other case is another name", `{"Name":"Eve","TIMES":3,"name":"Ada"}`, greeting{Name: "Ada"}},
		{"unknown members", `{"name":"Ada","extra":[1]}`, greeting{Name: "Ada"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got greeting
			tool := greet(func(_ context.Context, _ *mcp.ToolCall, in greeting) (string, error) {
				got = in
				return "hello", nil
			})
			out, err := tool.Run(t.Context(), arguments(tt.arguments))
			require.NoError(t, err)
			assert.Equal(t, "hello", out)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestNewRefusesWhatInCannotHold(t *testing.T) {
	for _, text := range []string{`{"times":1e99}`, `{"name":1}`, `{"name":"a","name":"b"}`, `[]`, `{`, ``} {
		tool := greet(func(context.Context, *mcp.ToolCall, greeting) (string, error) {
			t.Errorf("run was called with %q", text)
			return "", nil
		})
		_, err := tool.Run(t.Context(), arguments(text))
		assert.ErrorContains(t, err, "read arguments", text)
	}
}

func TestNewPassesCallAndErrorOn(t *testing.T) {
	failure := errors.New("no")
	call := arguments(`{}`)
	tool := greet(func(_ context.Context, got *mcp.ToolCall, _ greeting) (string, error) {
		assert.Same(t, call, got)
		return "not this", failure
	})
	out, err := tool.Run(t.Context(), call)
	assert.Nil(t, out)
	assert.Same(t, failure, err)
	assert.Equal(t, "greet", tool.Name)
}

func TestReadOnlyIsNotShared(t *testing.T) {
	*tools.ReadOnly().ReadOnly = false
	assert.True(t, *tools.ReadOnly().ReadOnly)
	assert.False(t, *tools.ReadOnly().Destructive)
	assert.True(t, *tools.ReadOnly().Idempotent)
	assert.False(t, *tools.ReadOnly().OpenWorld)
}
