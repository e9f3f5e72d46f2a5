package mcp

import "time"

// Cache says how long and for whom a client may keep a result: a list, a
// resource or what discovery says.
//
// Spec: MCP 2026-07-28, Caching.
type Cache struct {
	TTL    time.Duration // 0: stale at once
	Public bool          // the same for every principal
}
