package subscription

import (
	"slices"
	"sync"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// An update is an event, encoded once for all subscriptions. That of a task is not:
// what it says is found out for each.
type update struct {
	event        mcp.Event
	notification mcp.SubscriptionNotification
}

func newUpdate(e mcp.Event) *update {
	u := &update{event: e}
	if e.Method != mcp.NotificationTasks {
		u.notification = e.ForSubscriptions()
	}
	return u
}

// A subscription has what its client has not been sent yet. Events are pushed by
// whoever publishes them, and taken by the goroutine of the request.
type subscription struct {
	wake chan struct{} // capacity 1: there is something to take

	mu      sync.Mutex // guards pending
	pending []*update  // no two of the same event; nil most of the time
}

func newSubscription() *subscription { return &subscription{wake: make(chan struct{}, 1)} }

// push adds u, unless an equal event is still pending.
func (s *subscription) push(u *update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.pending, func(p *update) bool { return p.event == u.event }) {
		return
	}
	s.pending = append(s.pending, u)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what is pending, in the order in which it was pushed.
func (s *subscription) take() []*update {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := s.pending
	s.pending = nil
	return pending
}
