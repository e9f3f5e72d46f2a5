package dispatch

import "github.com/mcpyard/mcpyard/internal/mcp"

// addDiscover adds server/discover, whose result is always the same: it has the
// capabilities of what is in the catalogue. It also makes the stamp, which says
// the same of the server on every other result.
//
// Spec: MCP 2026-07-28, Discovery.
func (d *Dispatcher) addDiscover(c *catalogue) (err error) {
	res, err := encode(mcp.DiscoverResult{
		SupportedVersions: mcp.SupportedVersions(),
		Capabilities:      d.capabilities(c),
		Instructions:      c.instructions,
	}, &c.cache.fixed)
	if err != nil {
		return err
	}
	d.strict[mcp.MethodDiscover] = fixed(res)
	d.stamp, err = newStamp(c.server)
	return err
}

// capabilities are those of what is in the catalogue. Whatever can be published
// of it can be listened for.
func (d *Dispatcher) capabilities(c *catalogue) (has mcp.ServerCapabilities) {
	publishes := d.events != nil
	if len(c.tools) > 0 {
		has.Tools = &mcp.ListCapability{ListChanged: publishes}
	}
	if len(c.prompts) > 0 {
		has.Prompts = &mcp.ListCapability{ListChanged: publishes}
	}
	if len(c.sources) > 0 {
		has.Resources = &mcp.ResourcesCapability{Subscribe: publishes, ListChanged: publishes}
	}
	if d.strict[mcp.MethodComplete] != nil {
		has.Completions = &struct{}{}
	}
	if d.logs {
		has.Logging = &struct{}{}
	}
	if d.strict[mcp.MethodTasksGet] != nil {
		has.Extensions = map[string]struct{}{mcp.ExtensionTasks: {}}
	}
	return has
}
