package everything

import (
	"context"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// reportTools tell the client something while they run.
func reportTools() []mcp.ServerTool {
	return []mcp.ServerTool{
		simple("test_tool_with_progress", "Reports progress three times, 50 ms apart.", reportProgress),
		simple("test_logging_tool", "Sends log messages of several levels, to a client that asks for them.", logSome),
	}
}

func reportProgress(ctx context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
	const total = 100
	step := time.NewTicker(50 * time.Millisecond)
	defer step.Stop()
	for done := range 3 {
		call.Progress(float64(done)*total/2, total, "")
		select {
		case <-step.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return text("Reported progress of 0, 50 and 100."), nil
}

func logSome(_ context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
	const logger = "test_logging_tool"
	call.Log(mcp.LogDebug, logger, "Started.")
	call.Log(mcp.LogInfo, logger, map[string]any{"step": 1, "of": 2})
	call.Log(mcp.LogWarning, logger, "This is only a test.")
	return text("Logged a debug, an info and a warning message."), nil
}
