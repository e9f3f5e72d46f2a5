//go:build !race

package mcphttp

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAllocs bounds what a POST allocates, but for net/http.
func TestAllocs(t *testing.T) {
	for door, most := range map[string]float64{"mcp": 10, "rpc": 8} {
		assert.LessOrEqual(t, testing.AllocsPerRun(1000, posts(t, door)), most, door)
	}
}
