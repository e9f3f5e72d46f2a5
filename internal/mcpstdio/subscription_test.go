package mcpstdio

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A shelf holds subscriptions until it is closed, as what stands behind the
// server does.
type shelf struct {
	closed chan struct{}
	once   sync.Once
	gone   chan string // ids of subscriptions that their client has ended
}

func newShelf() *shelf { return &shelf{closed: make(chan struct{}), gone: make(chan string, 10)} }

func (s *shelf) close() { s.once.Do(func() { close(s.closed) }) }

func (s *shelf) handle(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	if req.Method != mcp.MethodListen {
		return okay(ctx, req, notify)
	}
	if req.ID == `"refused"` {
		return mcp.ErrorResponse(req.ID, mcp.InvalidParams("x"))
	}
	notify(mcp.SubscriptionAcknowledged(mcp.SubscriptionFilter{}).For(req.ID))
	select {
	case <-s.closed:
	case <-ctx.Done():
		s.gone <- string(req.ID)
	}
	return mcp.SubscriptionEnded(req.ID, nil)
}

func listenRequest(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{}}}`
}

func subscriptionTag(id string) string {
	return `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}`
}

func acknowledged(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + subscriptionTag(id) + `,"notifications":{}}}`
}

// ended is what a subscription ends with when it is the server that ends it.
func ended(id string) []string {
	return []string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{` + subscriptionTag(id) + `,"requestId":` + id + `}}`,
		`{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete",` + subscriptionTag(id) + `}}`,
	}
}

// listening starts a server with two subscriptions, 1 and "1".
func listening(t *testing.T) (*host, *shelf) {
	t.Helper()
	s := newShelf()
	c := launch(t, s.handle, Config{OnStop: s.close})
	for _, id := range []string{`1`, `"1"`} {
		c.send(t, listenRequest(id))
		assert.Equal(t, acknowledged(id), c.receive(t))
	}
	return c, s
}

// Streams stay for as long as their client likes, so they must not take the
// places of requests that are answered.
func TestSubscriptionsLeaveRoomForRequests(t *testing.T) {
	s := newShelf()
	c := launch(t, s.handle, Config{MaxInFlight: 1, OnStop: s.close})
	for _, id := range []string{`1`, `2`} {
		c.send(t, listenRequest(id))
		assert.Equal(t, acknowledged(id), c.receive(t))
	}
	c.send(t, request(`3`))
	assert.Equal(t, response(`3`), c.receive(t))
	c.send(t, request(`1`))
	assertError(t, c.receive(t), jsonrpc.CodeInvalidRequest, `1`)
	c.send(t, cancelled(`1`))
	assert.Equal(t, `1`, <-s.gone)
}

// assertBothEnd checks that rest is the end of both subscriptions: of each, the
// cancellation and then the response.
func assertBothEnd(t *testing.T, rest []string) {
	t.Helper()
	require.Len(t, rest, 4)
	byOne, byText := ended(`1`), ended(`"1"`)
	if rest[0] == byOne[0] {
		assert.Equal(t, append(byOne, byText...), rest)
		return
	}
	assert.Equal(t, append(byText, byOne...), rest)
}

// The end of the input ends subscriptions, or Run would not return.
func TestInputEndEndsSubscriptions(t *testing.T) {
	c, _ := listening(t)
	assertBothEnd(t, lines(t, c.end(t)))
}

func TestStopEndsSubscriptions(t *testing.T) {
	c, _ := listening(t)
	c.stop()
	var rest []string
	for range 4 {
		rest = append(rest, c.receive(t))
	}
	assertBothEnd(t, rest)
	assert.NoError(t, <-c.done)
}

// The client ends one of its subscriptions: there is no more of it, and the
// other stays.
func TestCancelledSubscription(t *testing.T) {
	c, s := listening(t)
	c.send(t, cancelled(`"1"`))
	assert.Equal(t, `"1"`, <-s.gone)
	c.send(t, request(`2`))
	assert.Equal(t, response(`2`), c.receive(t))
	assert.Equal(t, ended(`1`), lines(t, c.end(t)))
}

// What was never a subscription is not cancelled.
func TestRefusedSubscription(t *testing.T) {
	c := launch(t, newShelf().handle, Config{})
	c.send(t, listenRequest(`"refused"`))
	assertError(t, c.receive(t), -32602, `"refused"`)
	assert.Empty(t, c.end(t))
}
