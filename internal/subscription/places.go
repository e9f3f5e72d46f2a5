package subscription

import (
	"cmp"
	"sync"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// places counts the subscriptions that there are or are about to be.
type places struct {
	max, maxEach int

	mu   sync.Mutex // guards what follows
	all  int
	each map[string]int // by principal, without those that have none
}

func newPlaces(cfg Config) places {
	limit := cmp.Or(cfg.MaxSubscriptions, 10_000)
	return places{max: limit, maxEach: cmp.Or(cfg.MaxPerPrincipal, limit), each: make(map[string]int)}
}

// take takes a place, or says why there is none: either the principal has its
// share, which is its own doing, or this process is full.
func (p *places) take(principal string) *jsonrpc.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.all >= p.max:
		return mcp.Overloaded(retryAfter)
	case p.each[principal] >= p.maxEach:
		return mcp.RateLimited("subscriptions", retryAfter)
	}
	p.all++
	p.each[principal]++
	return nil
}

func (p *places) giveBack(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.each[principal]--; p.each[principal] == 0 {
		delete(p.each, principal)
	}
}

func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}
