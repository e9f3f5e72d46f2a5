package everything

import (
	"context"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// changeTools announce changes to those who listen for them.
func changeTools() []mcp.ServerTool {
	announces := func(e mcp.Event) run {
		return func(_ context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
			call.Publish(e)
			return text("Announced. Nothing has changed in truth."), nil
		}
	}
	return []mcp.ServerTool{
		simple("test_trigger_tool_change", "Announces that the list of tools has changed.", announces(mcp.ToolsListChanged())),
		simple("test_trigger_prompt_change", "Announces that the list of prompts has changed.", announces(mcp.PromptsListChanged())),
		simple("test_trigger_resource_change", "Announces that the list of resources has changed.", announces(mcp.ResourcesListChanged())),
		simple("test_trigger_resource_update", "Announces that "+staticText+" has changed.", announces(mcp.ResourceUpdated(staticText))),
	}
}
