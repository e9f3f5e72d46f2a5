package basics

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// Progress of slow is reported in this many steps, but not more often than
// minStep.
const (
	steps   = 10
	minStep = 50 * time.Millisecond
)

const slowInput = `{
	"type": "object",
	"properties": {
		"seconds": {
			"type": "number",
			"minimum": 0,
			"maximum": 3600,
			"description": "How long to wait, in seconds; fractions are allowed."
		}
	},
	"required": ["seconds"],
	"additionalProperties": false
}`

func slow() mcp.ServerTool {
	type input struct {
		Seconds float64 `json:"seconds"`
	}
	return tools.New(mcp.Tool{
		Name:        "slow",
		Title:       "Wait",
		Description: "Waits for the given time and reports progress meanwhile. Ends at once when it is cancelled.",
		InputSchema: jsontext.Value(slowInput),
		Annotations: tools.ReadOnly(),
	}, func(ctx context.Context, call *mcp.ToolCall, in input) (string, error) {
		d := time.Duration(in.Seconds * float64(time.Second))
		if err := wait(ctx, d, func(waited time.Duration) {
			call.Progress(waited.Seconds(), in.Seconds, "")
		}); err != nil {
			return "", err
		}
		call.Progress(in.Seconds, in.Seconds, "")
		return fmt.Sprintf("Waited for %g seconds.", in.Seconds), nil
	})
}

// wait returns after d, or with ctx's error as soon as that ends. It calls
// report on the way, and not at all for a wait that is a single step.
func wait(ctx context.Context, d time.Duration, report func(waited time.Duration)) error {
	start := time.Now()
	step := max(d/steps, minStep)
	timer := time.NewTimer(min(step, d))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		waited := time.Since(start)
		if waited >= d {
			return nil
		}
		report(waited)
		timer.Reset(min(step, d-waited))
	}
}
