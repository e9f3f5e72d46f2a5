package dispatch

import "github.com/mcpyard/mcpyard/internal/mcp"

// addDiscover adds server/discover, whose result is always the same: it has the
// capabilities of what is in the catalogue. It also makes the stamp, which says
// the same of the server on every other result.
//
// Spec: MCP 2026-07-28, Discovery.
func (d *Dispatcher) addDiscover(c *catalogue) (err error) {
	answer := mcp.DiscoverResult{SupportedVersions: mcp.SupportedVersions(), Instructions: c.instructions}
	if len(c.tools) > 0 {
		answer.Capabilities.Tools = &struct{}{}
	}
	if len(c.prompts) > 0 {
		answer.Capabilities.Prompts = &struct{}{}
	}
	if len(c.sources) > 0 {
		answer.Capabilities.Resources = &struct{}{}
	}
	res, err := encode(answer, publicHints())
	if err != nil {
		return err
	}
	d.strict[mcp.MethodDiscover] = fixed(res)
	d.stamp, err = newStamp(c.server)
	return err
}
