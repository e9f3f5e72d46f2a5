package dispatch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// checkIcons reports icons that clients have to refuse or cannot understand.
//
// Spec: MCP 2026-07-28, Base Protocol, Icons.
func checkIcons(icons []mcp.Icon) error {
	var problems []error
	for i, icon := range icons {
		scheme, _, _ := strings.Cut(strings.ToLower(icon.Src), ":")
		if scheme != "https" && scheme != "http" && scheme != "data" {
			problems = append(problems, fmt.Errorf("icon %d: %q is no https, http or data URI", i, shorten(icon.Src)))
		}
		if icon.Theme != "" && icon.Theme != "light" && icon.Theme != "dark" {
			problems = append(problems, fmt.Errorf(`icon %d: the theme %q is neither "light" nor "dark"`, i, icon.Theme))
		}
	}
	return errors.Join(problems...)
}
