package dispatch_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestIconsThatClientsRefuse(t *testing.T) {
	icon := func(src, theme string) []mcp.Icon { return []mcp.Icon{{Src: src, Theme: theme}} }
	iconic := tool("t", anyObject, ask)
	iconic.Icons = icon("javascript:alert(1)", "")
	picture := prompt("p", nil)
	picture.Icons = icon("HTTPS://example.com/a.png", "bright")
	source := stub{templates: []mcp.ServerTemplate{{ResourceTemplate: mcp.ResourceTemplate{URITemplate: "a://{b}", Icons: icon("file:///a.png", "dark")}}}}
	_, err := dispatch.New(dispatch.Config{
		Server:   mcp.Implementation{Icons: icon("", "light")},
		Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{iconic}, Prompts: []mcp.ServerPrompt{picture}, Resources: source}},
	}, slog.New(slog.DiscardHandler))
	for _, want := range []string{
		`tool "t": icon 0: "javascript:alert(1)" is no https, http or data URI`,
		`prompt "p": icon 0: the theme "bright" is neither "light" nor "dark"`,
		`resource template "a://{b}": icon 0: "file:///a.png" is no https, http or data URI`,
		`server: icon 0: "" is no https, http or data URI`,
	} {
		assert.ErrorContains(t, err, want)
	}
}
