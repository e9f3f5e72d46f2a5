package dispatch

import "github.com/mcpyard/mcpyard/internal/mcp"

// Repeatable tells whether req may run a second time when nobody knows what
// became of the first. That is so for every method that only reads, and for
// calls of tools whose annotations say that they read only, or that a second call
// with the same arguments has no further effect.
//
// Spec: MCP 2026-07-28, schema, ToolAnnotations.
func (d *Dispatcher) Repeatable(req *mcp.Request) bool {
	if req.Method != mcp.MethodToolsCall {
		return true
	}
	name, _ := req.Target()
	t := d.tools[name]
	return t != nil && t.repeatable()
}

func (t *tool) repeatable() bool {
	return t.Annotations != nil && (isTrue(t.Annotations.ReadOnly) || isTrue(t.Annotations.Idempotent))
}

func isTrue(b *bool) bool { return b != nil && *b }
