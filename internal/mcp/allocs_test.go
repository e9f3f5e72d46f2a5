//go:build !race

package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// TestAllocs bounds what the codec allocates: to parse a request, whatever its size
// unless it has thousands of members, and to encode a response.
func TestAllocs(t *testing.T) {
	most := map[string]float64{"600B": 5, "64KiB-text": 5, "64KiB-records": 5, "64KiB-members": 3200}
	for _, text := range benchTexts() {
		assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = mcp.ParseRequest(text.raw) }), most[text.name], text.name)
	}
	opening, members := []byte(`{"resultType":"complete",`), []byte(`"content":[]}`)
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { mcp.ResultResponse("1", opening, members) }), 2.0)
}
