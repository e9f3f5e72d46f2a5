package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// What the configuration says holds for all that only a deployment changes, and
// for nothing else.
//
// Spec: MCP 2026-07-28, Caching, Cacheable Results.
func TestCacheOfWhatIsFixed(t *testing.T) {
	for want, cache := range map[string]*mcp.Cache{
		`"ttlMs":300000,"cacheScope":"public"`:   nil,
		`"ttlMs":0,"cacheScope":"private"`:       {},
		`"ttlMs":1000,"cacheScope":"private"`:    {TTL: time.Second},
		`"ttlMs":86400000,"cacheScope":"public"`: {TTL: 24 * time.Hour, Public: true},
	} {
		cfg := fixture()
		cfg.Cache = cache
		d := newDispatcher(t, cfg)
		for _, method := range []string{
			mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourceTemplatesList,
		} {
			assert.Contains(t, handle(t, d, mcp.Strict, strictRequest(`1`, method, `"x":1`)), want, method)
		}
		assert.Contains(t, handle(t, d, mcp.Strict, strictRequest(`1`, "resources/list", `"x":1`)), `"ttlMs":0,"cacheScope":"private"`)
		assert.NotContains(t, handle(t, d, mcp.Strict, strictRequest(`1`, "tools/call", `"name":"list"`)), "ttlMs")
	}
}

// All pages of resources/list have the strictest hints of all toolsets.
//
// Spec: Caching, Interaction with Pagination.
func TestCacheOfResourceLists(t *testing.T) {
	hour, minute := mcp.Cache{TTL: time.Hour, Public: true}, mcp.Cache{TTL: time.Minute, Public: true}
	for _, test := range []struct {
		caches []mcp.Cache
		ttl    int
		scope  string
	}{
		{[]mcp.Cache{{}}, 0, "private"},
		{[]mcp.Cache{hour}, 3600000, "public"},
		{[]mcp.Cache{hour, minute}, 60000, "public"},
		{[]mcp.Cache{hour, {TTL: 2 * time.Hour}}, 3600000, "private"},
		{[]mcp.Cache{hour, {}}, 0, "private"},
	} {
		cfg := dispatch.Config{PageSize: 1, Toolsets: []mcp.Toolset{{Name: "no resources"}}}
		for i, cache := range test.caches {
			source := memory{fmt.Sprintf("mem://%d", i): "", "mem://z": ""}
			cfg.Toolsets = append(cfg.Toolsets, mcp.Toolset{Resources: withoutTemplates{source}, ResourceListCache: cache})
		}
		d := newDispatcher(t, cfg)
		var cursor *string
		for pages := 1; ; pages++ {
			p := getPage(t, d, mcp.MethodResourcesList, cursor)
			assert.Equal(t, test.scope, p.Result.Scope)
			assert.Equal(t, test.ttl, p.Result.TTL)
			if cursor = p.Result.Next; cursor == nil {
				assert.Equal(t, len(test.caches)+1, pages)
				break
			}
		}
	}
}
