package dispatch

import (
	"fmt"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// listTTL is how long clients may keep what only a new deployment changes,
// unless the Config says otherwise.
const listTTL = 5 * time.Minute

// caching has the hints of lists. They are the same for all pages of a list, as
// their scope has to be.
//
// Spec: MCP 2026-07-28, Caching.
type caching struct {
	fixed     mcp.Cache // of discovery and of lists that only a new deployment changes
	resources mcp.Cache // of resources/list
}

// newCaching takes the hints for what is fixed from the configuration, and the
// strictest of all toolsets for resources.
func newCaching(fixed *mcp.Cache, toolsets []mcp.Toolset) caching {
	c := caching{fixed: mcp.Cache{TTL: listTTL, Public: true}}
	if fixed != nil {
		c.fixed = *fixed
	}
	first := true
	for _, set := range toolsets {
		switch {
		case set.Resources == nil:
		case first:
			c.resources, first = set.ResourceListCache, false
		default:
			c.resources.TTL = min(c.resources.TTL, set.ResourceListCache.TTL)
			c.resources.Public = c.resources.Public && set.ResourceListCache.Public
		}
	}
	return c
}

// readHints are the source's, unless the result depends on input: that is not
// part of the key under which a client would keep it.
//
// Spec: Caching, Cache Key.
func readHints(req *mcp.Request, contents *mcp.ReadResult) *mcp.Cache {
	if !mcp.IsAbsent(req.Params.InputResponses) || !mcp.IsAbsent(req.Params.RequestState) {
		return &mcp.Cache{}
	}
	return &contents.Cache
}

// hints are members of a result up to a comma.
func hints(c *mcp.Cache) []byte {
	if c == nil {
		return nil
	}
	scope := "private"
	if c.Public {
		scope = "public"
	}
	return fmt.Appendf(nil, `"ttlMs":%d,"cacheScope":%q,`, max(0, c.TTL.Milliseconds()), scope)
}
