//go:build !race

package dispatch_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// TestAllocs bounds what a call of a small tool allocates, from its envelope to its
// response, and a list of tools, which is encoded once.
func TestAllocs(t *testing.T) {
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, echoCall(t, mcp.Strict, 32)), 18.0)
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, echoCall(t, mcp.Contract, 32)), 18.0)
	few, many := testing.AllocsPerRun(100, secondPage(t, 2)), testing.AllocsPerRun(100, secondPage(t, 250))
	assert.Equal(t, few, many, "for each page, not for each tool")
	assert.LessOrEqual(t, many, 10.0)
}

// secondPage returns a tools/list that goes on behind the first page, of as many tools.
func secondPage(t testing.TB, size int) func() {
	t.Helper()
	cfg := numbered(2 * size)
	cfg.PageSize = size
	d := newDispatcher(t, cfg)
	list := func(cursor string) *mcp.Request {
		return parse(t, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+cursor+strictMeta+`}}`)
	}
	var first struct{ Result struct{ NextCursor string } }
	require.NoError(t, json.Unmarshal(d.Handle(t.Context(), list(""), nil).Body, &first))
	require.NotEmpty(t, first.Result.NextCursor)
	req := list(`"cursor":"` + first.Result.NextCursor + `",`)
	return func() { d.Handle(t.Context(), req, nil) }
}
