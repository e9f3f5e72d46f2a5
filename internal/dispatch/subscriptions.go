package dispatch

import (
	"context"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// addSubscriptions adds subscriptions/listen where there are events to listen
// for.
func (d *Dispatcher) addSubscriptions(declared mcp.ServerCapabilities) {
	if d.events == nil || declared.Tools == nil && declared.Prompts == nil && declared.Resources == nil {
		return
	}
	d.strict[mcp.MethodListen] = func(ctx context.Context, req *mcp.Request, _ mcp.NotifyFunc) (result, error) {
		return d.honour(ctx, req, declared)
	}
}

// honour answers subscriptions/listen with the part of the filter that the
// catalogue can honour, and is done: the stream is held by the ingress, so that
// it takes no slot of a worker for as long as it lasts.
//
// Spec: MCP 2026-07-28, Subscriptions, Acknowledgment.
func (d *Dispatcher) honour(ctx context.Context, req *mcp.Request, declared mcp.ServerCapabilities) (result, error) {
	filter, refusal := mcp.ParseSubscriptionFilter(req.Params.Notifications)
	switch {
	case refusal != nil:
		return result{}, refusal
	case len(filter.TaskIDs) > 0 && !req.Meta.Capabilities.Tasks:
		return result{}, mcp.MissingTasks()
	}
	filter = filter.Honoured(declared)
	known, err := d.knownTasks(ctx, req.Principal, filter.TaskIDs)
	filter.TaskIDs = known
	if err != nil {
		return result{}, err
	}
	return encode(mcp.ListenResult{Notifications: filter}, nil)
}
