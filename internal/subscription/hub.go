// Package subscription holds the streams of clients that listen for changes. A
// worker only says what of a client's filter its pool honours; from then on the
// stream costs no worker anything, and the events of all workers come from the
// bus.
//
// Start at Hub. places.go bounds the streams, stream.go has one of them.
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
	// it for as long as the stream is open.
	maxRequest = 64 << 10

	// retryAfter is when a client may try again that was refused for lack of
	// room. Streams are long, so there is no point in haste.
	retryAfter = 10 * time.Second

	// movedAfter is when a client may try again that came while the hub closed:
	// to reach another ingress, it only needs a new connection.
	movedAfter = time.Second
)

// A Config has the bounds of a Hub. The zero Config is ready.
type Config struct {
	// MaxStreams is how many streams may be open; zero means 10,000. Further
	// requests to listen are refused as overload.
	MaxStreams int

	// MaxPerPrincipal is how many of them may be of one principal; zero means
	// as many as MaxStreams. Further requests of that principal are refused as
	// beyond its rate. Without authentication all clients are one principal.
	MaxPerPrincipal int
}

// A Hub passes events on to those who listen for them. It is safe for concurrent
// use.
//
// What a slow client is behind with is bounded by its own filter: an event that
// it has not been sent yet says all that an equal one would add. So no stream
// grows, none has to be dropped, and none holds up another.
type Hub struct {
	log     *slog.Logger
	places  places
	closing chan struct{}
	once    sync.Once

	mu     sync.Mutex // guards topics
	topics map[topic]map[*stream]struct{}
}

// A topic is what one event of one pool is known by.
type topic struct {
	pool  string
	event mcp.Event
}

// NewHub returns a hub that nobody listens to.
func NewHub(cfg Config, log *slog.Logger) *Hub {
	return &Hub{
		log:     log.With("component", "subscription"),
		places:  newPlaces(cfg),
		closing: make(chan struct{}),
		topics:  make(map[topic]map[*stream]struct{}),
	}
}

// Middleware answers requests to listen, and leaves all others to next. It asks
// next what of the filter is honoured, once for each stream, and with that the
// stream is beyond any deadline that next has for its answers.
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
	send(e, h.topics[topic{pool, e}])
}

// PublishAll sends everyone all that they listen for. It is for when events may
// have been lost: to look again at what has not changed is better than not to
// look at what has.
func (h *Hub) PublishAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t, streams := range h.topics {
		send(t.event, streams)
	}
}

// send pushes e to streams, encoded once for all of them.
func send(e mcp.Event, to map[*stream]struct{}) {
	if len(to) == 0 {
		return
	}
	u := newUpdate(e)
	for s := range to {
		s.push(u)
	}
}

// Streams is the number of streams that are open.
func (h *Hub) Streams() int { return h.places.taken() }

// Close ends all streams, each with its response, and refuses new ones. It does
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

// serve sends a stream its messages until its end. The stream is in its place
// before it is acknowledged, so that no event is lost which happens after that.
func (h *Hub) serve(
	ctx context.Context, next mcp.Handler, req *mcp.Request, honoured mcp.SubscriptionFilter, server jsontext.Value, notify mcp.NotifyFunc,
) *mcp.Response {
	s := newStream()
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

func (h *Hub) join(s *stream, pool string, events []mcp.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		t := topic{pool, e}
		if h.topics[t] == nil {
			h.topics[t] = make(map[*stream]struct{})
		}
		h.topics[t][s] = struct{}{}
	}
}

// leave forgets the stream, and topics that are nobody's any more.
func (h *Hub) leave(s *stream, pool string, events []mcp.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		t := topic{pool, e}
		delete(h.topics[t], s)
		if len(h.topics[t]) == 0 {
			delete(h.topics, t)
		}
	}
}
