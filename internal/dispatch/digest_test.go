package dispatch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A digest depends on what is shown, not on the order of registration.
func TestDigest(t *testing.T) {
	digest := func(toolsets ...mcp.Toolset) string {
		return newDispatcher(t, dispatch.Config{Toolsets: toolsets}).Digest()
	}
	a, b := tool("a", anyObject, returns("", nil)), tool("b", anyObject, returns("", nil))
	described := a
	described.Description = "Other words"
	different := []string{
		digest(),
		digest(mcp.Toolset{Instructions: "Be brief."}),
		digest(mcp.Toolset{Tools: []mcp.ServerTool{a}}),
		digest(mcp.Toolset{Tools: []mcp.ServerTool{described}}),
		digest(mcp.Toolset{Tools: []mcp.ServerTool{a, b}}),
		digest(mcp.Toolset{Prompts: []mcp.ServerPrompt{prompt("a", nil)}}),
		digest(mcp.Toolset{Resources: memory{}}),
	}
	for i, d := range different {
		assert.NotEmpty(t, d)
		assert.NotContains(t, different[:i], d)
	}
	assert.Equal(t, digest(mcp.Toolset{Name: "x", Tools: []mcp.ServerTool{a}}, mcp.Toolset{Name: "y", Tools: []mcp.ServerTool{b}}),
		digest(mcp.Toolset{Name: "y", Tools: []mcp.ServerTool{b}}, mcp.Toolset{Name: "x", Tools: []mcp.ServerTool{a}}))
}
