// Package subscription holds the subscriptions of clients that listen for changes.
// A worker only says what of a client's filter its pool honours; from then on the
// subscription costs no worker anything, and the events of all workers come from
// the bus.
//
// Start at Hub. places.go bounds the subscriptions, subscription.go has one of them.
//
// Spec: MCP 2026-07-28, Subscriptions.
package subscription

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// maxRequest is the largest request to listen in bytes. The transport keeps
	// it for as long as the subscription lasts.
	maxRequest = 64 << 10

	// retryAfter is when a client may try again that was refused for lack of
	// room. Subscriptions are long, so there is no point in haste.
	retryAfter = 10 * time.Second

	// movedAfter is when a client may try again that came while the hub closed:
	// to reach another ingress, it only needs a new connection.
	movedAfter = time.Second
)

// A Config has the bounds of a Hub. The zero Config is ready.
type Config struct {
	// MaxSubscriptions is how many there may be; zero means 10,000. Further
	// requests to listen are refused as overload.
	MaxSubscriptions int

	// MaxPerPrincipal is how many of them may be of one principal; zero means
	// as many as MaxSubscriptions. Further requests of that principal are refused as
	// beyond its rate. Without authentication all clients are one principal.
	MaxPerPrincipal int
}

// A Hub passes events on to those who listen for them. It is safe for concurrent
// use.
//
// What a slow client is behind with is bounded by its own filter: an event that
// it has not been sent yet says all that an equal one would add. So none has to be
// dropped, and none holds up another.
type Hub struct {
	log     *slog.Logger
	places  places
	closing chan struct{}
	once    sync.Once

	mu    sync.Mutex // guards what follows
	byKey map[key]map[*subscription]struct{}
}

// A key is what subscriptions are found by: one event of one pool.
type key struct {
	pool  string
	event mcp.Event
}

// NewHub returns a hub that nobody listens to.
func NewHub(cfg Config, log *slog.Logger) *Hub {
	return &Hub{
		log:     log.With("component", "subscription"),
		places:  newPlaces(cfg),
		closing: make(chan struct{}),
		byKey:   make(map[key]map[*subscription]struct{}),
	}
}

// Middleware answers requests to listen, and leaves all others to next. It asks
// next what of the filter is honoured, once for each, and with that the
// subscription is beyond any deadline that next has for its answers.
func (h *Hub) Middleware(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if req.Method != mcp.MethodListen || req.Profile != mcp.Strict {
			return next.Handle(ctx, req, notify)
		}
		return h.listen(ctx, next, req, notify)
	})
}

// Publish sends e to everyone who listens for it in pool. It does not wait for
// any of them.
func (h *Hub) Publish(pool string, e mcp.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	send(e, h.byKey[key{pool, e}])
}

// PublishAll sends everyone all that they listen for. It is for when events may
// have been lost: to look again at what has not changed is better than not to
// look at what has.
func (h *Hub) PublishAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, subscriptions := range h.byKey {
		send(k.event, subscriptions)
	}
}

// send pushes e to subscriptions, encoded once for all of them.
func send(e mcp.Event, to map[*subscription]struct{}) {
	if len(to) == 0 {
		return
	}
	u := newUpdate(e)
	for s := range to {
		s.push(u)
	}
}

// Subscriptions is how many there are.
func (h *Hub) Subscriptions() int { return h.places.taken() }

// Close ends all subscriptions, each with its response, and refuses new ones. It does
// not wait for them, and may be called more than once.
func (h *Hub) Close() { h.once.Do(func() { close(h.closing) }) }

func (h *Hub) isClosing() bool {
	select {
	case <-h.closing:
		return true
	default:
		return false
	}
}

// listen answers one request to listen.
func (h *Hub) listen(ctx context.Context, next mcp.Handler, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	switch {
	case h.isClosing():
		return mcp.ErrorResponse(req.ID, mcp.Overloaded(movedAfter))
	case len(req.Raw) > maxRequest:
		return mcp.ErrorResponse(req.ID, mcp.MessageTooLarge("request", maxRequest))
	}
	if refusal := h.places.take(req.Principal); refusal != nil {
		return mcp.ErrorResponse(req.ID, refusal)
	}
	defer h.places.giveBack(req.Principal)

	res := next.Handle(ctx, req, func([]byte) {}) // nothing may come before the acknowledgement
	if res.Code != 0 {
		return res
	}
	honoured, server, ok := mcp.ParseListenResult(res.Body)
	if !ok {
		h.log.ErrorContext(ctx, "answer to a request to listen cannot be read", slog.String("pool", req.Pool))
		return mcp.ErrorResponse(req.ID, mcp.InternalError())
	}
	return h.serve(ctx, next, req, honoured, server, notify)
}

// serve sends a subscription its messages until its end. It is in its place before
// it is acknowledged, so that no event is lost which happens after that.
func (h *Hub) serve(
	ctx context.Context, next mcp.Handler, req *mcp.Request, honoured mcp.SubscriptionFilter, server jsontext.Value, notify mcp.NotifyFunc,
) *mcp.Response {
	s := newSubscription()
	events := honoured.Events()
	h.join(s, req.Pool, events)
	defer h.leave(s, req.Pool, events)

	notify(mcp.SubscriptionAcknowledged(honoured).For(req.ID))
	for _, id := range honoured.TaskIDs { // what has become of them meanwhile
		s.push(&update{event: mcp.TaskChanged(id)})
	}
	for open := true; open; {
		select {
		case <-s.wake:
		case <-h.closing:
			open = false // but for what has happened until now
		case <-ctx.Done():
			return gone(ctx, req.ID)
		}
		for _, u := range s.take() {
			if n, ok := current(ctx, next, req, u); ok {
				notify(n.For(req.ID))
			}
		}
	}
	return mcp.SubscriptionEnded(req.ID, server)
}

// current is the notification that tells of u. The state of a task is whatever it
// is now, and may be seen by this client: it is asked for in the client's name.
func current(ctx context.Context, next mcp.Handler, req *mcp.Request, u *update) (mcp.SubscriptionNotification, bool) {
	if u.event.Method != mcp.NotificationTasks {
		return u.notification, true
	}
	res := next.Handle(ctx, mcp.TaskRequest(req, u.event.TaskID), func([]byte) {})
	return mcp.TaskNotification(res.Body)
}

// gone is the response to a request whose context has ended.
func gone(ctx context.Context, id jsonrpc.ID) *mcp.Response {
	if ended := mcp.EndedBy(ctx); ended != nil {
		return mcp.ErrorResponse(id, ended)
	}
	return mcp.SubscriptionEnded(id, nil) // which nobody reads
}

func (h *Hub) join(s *subscription, pool string, events []mcp.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		k := key{pool, e}
		if h.byKey[k] == nil {
			h.byKey[k] = make(map[*subscription]struct{})
		}
		h.byKey[k][s] = struct{}{}
	}
}

// leave forgets the subscription, and keys that are nobody's any more.
func (h *Hub) leave(s *subscription, pool string, events []mcp.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		k := key{pool, e}
		delete(h.byKey[k], s)
		if len(h.byKey[k]) == 0 {
			delete(h.byKey, k)
		}
	}
}
