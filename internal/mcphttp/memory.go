package mcphttp

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// maxParsing is how many bytes of large bodies are parsed at once. Parsing takes
// a multiple of their size, and no time to speak of.
const maxParsing = 8 << 20

// memoryRetry is when to send again what came while all memory was taken.
const memoryRetry = time.Second

// memory bounds what large bodies take until they are parsed; from then on,
// places and queues bound how many requests there are. Small bodies, as most are,
// are bounded by the number of connections alone.
type memory struct {
	bodies  *semaphore.Weighted // in bytes
	parsing *semaphore.Weighted // maxParsing
}

func newMemory(bodies int64) memory {
	return memory{bodies: semaphore.NewWeighted(bodies), parsing: semaphore.NewWeighted(maxParsing)}
}

// claim is to be released by the caller.
func (m memory) claim() claim { return claim{of: m.bodies} }

// A claim is what one body takes.
type claim struct {
	of    *semaphore.Weighted
	bytes int64 // 0 for a small body
}

// raise claims memory for a buffer of so many bytes, if there is some.
func (c *claim) raise(bytes int64) bool {
	if bytes <= keptBuffer {
		return true
	}
	if !c.of.TryAcquire(bytes - c.bytes) {
		return false
	}
	c.bytes = bytes
	return true
}

// release may be called more than once.
func (c *claim) release() {
	c.of.Release(c.bytes)
	c.bytes = 0
}

// parse parses body and releases c. A large body waits until it is its turn,
// unless its client is gone.
func (m memory) parse(ctx context.Context, body []byte, c *claim) (*mcp.Request, *jsonrpc.Error) {
	defer c.release()
	if c.bytes > 0 {
		n := min(c.bytes, maxParsing)
		if m.parsing.Acquire(ctx, n) != nil {
			return &mcp.Request{}, mcp.Overloaded(memoryRetry)
		}
		defer m.parsing.Release(n)
	}
	return mcp.ParseRequest(body)
}
