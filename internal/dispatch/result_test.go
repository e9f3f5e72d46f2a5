package dispatch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Discovery says all of the server, other results only who it is.
func TestServerInfo(t *testing.T) {
	cfg := fixture()
	cfg.Server = mcp.Implementation{
		Name: "s", Version: "1", Description: "It.", WebsiteURL: "https://example.com", Icons: []mcp.Icon{{Src: "data:image/png;base64,AA=="}},
	}
	d := newDispatcher(t, cfg)
	assert.Contains(t, handle(t, d, mcp.Strict, strictRequest(`1`, mcp.MethodDiscover, `"x":1`)),
		`"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1","description":"It.","websiteUrl":"https://example.com","icons":[{"src":"data:image/png;base64,AA=="}]}}`)
	assert.Contains(t, handle(t, d, mcp.Strict, strictRequest(`1`, mcp.MethodToolsList, `"x":1`)),
		`"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}`)
}
