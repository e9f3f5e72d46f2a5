package dispatch

import "github.com/mcpyard/mcpyard/internal/mcp"

// addDiscover adds server/discover, whose result is always the same.
//
// Spec: MCP 2026-07-28, Discovery.
func (d *Dispatcher) addDiscover(declared mcp.ServerCapabilities) {
	res, _ := encode(mcp.DiscoverResult{ // strings and booleans always have a JSON form
		SupportedVersions: mcp.SupportedVersions(),
		Capabilities:      declared,
		Instructions:      d.catalogue.instructions,
	}, &d.catalogue.cache.fixed)
	d.strict[mcp.MethodDiscover] = fixed(res)
}

// capabilities are those of what is in the catalogue. Where events are taken,
// whatever can change of it can be listened for.
func (c *catalogue) capabilities(cfg Config) (has mcp.ServerCapabilities) {
	publishes := cfg.Events != nil
	if len(c.tools) > 0 {
		has.Tools = &mcp.ListCapability{ListChanged: publishes}
	}
	if len(c.prompts) > 0 {
		has.Prompts = &mcp.ListCapability{ListChanged: publishes}
	}
	if len(c.sources) > 0 {
		has.Resources = &mcp.ResourcesCapability{Subscribe: publishes, ListChanged: publishes}
	}
	if c.completes() {
		has.Completions = &struct{}{}
	}
	if c.logs {
		has.Logging = &struct{}{}
	}
	if cfg.Tasks != nil && len(c.tools) > 0 {
		has.Extensions = map[string]struct{}{mcp.ExtensionTasks: {}}
	}
	return has
}
