package everything

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// headerInput marks one argument of each type that a header can repeat.
const headerInput = `{
	"type": "object",
	"properties": {
		"region": {"type": "string", "x-mcp-header": "Region"},
		"limit": {"type": "integer", "x-mcp-header": "Limit"},
		"options": {
			"type": "object",
			"properties": {"dry_run": {"type": "boolean", "x-mcp-header": "Dry-Run"}}
		}
	},
	"required": ["region"]
}`

type headerArguments struct {
	Region string `json:"region"`
}

// headerTools have arguments that HTTP headers repeat.
func headerTools() []mcp.ServerTool {
	return []mcp.ServerTool{tools.New(mcp.Tool{
		Name:        "test_x_mcp_header",
		Description: "Returns the region, which clients repeat in a header.",
		InputSchema: jsontext.Value(headerInput),
		Annotations: tools.ReadOnly(),
	}, func(_ context.Context, _ *mcp.ToolCall, in headerArguments) (string, error) {
		return "Region: " + in.Region, nil
	})}
}
