package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/subscription"
)

// The id of every message is that of the request, in value and type.
func TestMessagesCarryTheID(t *testing.T) {
	for _, id := range []string{`7`, `"7"`, `0`, `9007199254740993`, `"\u00e9\""`} {
		t.Run(id, func(t *testing.T) {
			h := newHub(subscription.Config{})
			l := open(t, h, id, `{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}`)
			h.Publish(pool, mcp.ToolsListChanged())
			assert.Equal(t, toolsChanged(id), receive(t, l.messages))
			h.Publish(pool, mcp.ResourceUpdated("a:1"))
			assert.Equal(t, updated(id, "a:1"), receive(t, l.messages))
			assert.Empty(t, l.end(t, h))
		})
	}
}

func TestOnlyWhatIsListenedFor(t *testing.T) {
	h := newHub(subscription.Config{})
	l := open(t, h, `1`, `{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}`)
	other := open(t, h, `2`, `{"promptsListChanged":true,"resourcesListChanged":true}`)
	deaf := open(t, h, `3`, `{}`)
	h.Publish(pool, mcp.PromptsListChanged())
	h.Publish(pool, mcp.ResourcesListChanged())
	h.Publish(pool, mcp.ResourceUpdated("a:2"))
	h.Publish("elsewhere", mcp.ToolsListChanged())
	h.Publish("elsewhere", mcp.ResourceUpdated("a:1"))
	h.Publish(pool, mcp.ResourceUpdated("a:1"))
	assert.Equal(t, []string{updated(`1`, "a:1")}, l.end(t, h))
	rest := other.end(t, h)
	require.Len(t, rest, 2)
	assert.Contains(t, rest[0], `"notifications/prompts/list_changed"`)
	assert.Contains(t, rest[1], `"notifications/resources/list_changed"`)
	assert.Empty(t, deaf.end(t, h))
}

// The pool decides what is honoured, and the rest is never sent.
func TestOnlyWhatIsHonoured(t *testing.T) {
	h := newHub(subscription.Config{})
	handler := h.Middleware(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		notify([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)) // not before the acknowledgement
		return mcp.ResultResponse(req.ID, []byte(`{"notifications":{"toolsListChanged":true}}`))
	}))
	l := listen(t, handler, request(t, `1`, `{"toolsListChanged":true,"promptsListChanged":true}`))
	assert.Equal(t, acknowledged(`1`, `{"toolsListChanged":true}`), receive(t, l.messages))
	h.Publish(pool, mcp.PromptsListChanged())
	h.Publish(pool, mcp.ToolsListChanged())
	assert.Equal(t, toolsChanged(`1`), receive(t, l.messages))
	h.Close()
	assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",`+tag(`1`)+`}}`, string(receive(t, l.response).Body), "without a server's name")
}

// An event that happens while the acknowledgement is on its way comes after it.
func TestNoEventIsLostBehindTheAcknowledgement(t *testing.T) {
	h := newHub(subscription.Config{})
	handler := h.Middleware(mcp.HandlerFunc(honouring))
	var messages []string
	ctx, gone := context.WithCancel(t.Context())
	handler.Handle(ctx, request(t, `1`, `{"toolsListChanged":true}`), func(n []byte) {
		messages = append(messages, string(n))
		switch len(messages) {
		case 1:
			h.Publish(pool, mcp.ToolsListChanged())
		case 2:
			gone()
		}
	})
	assert.Equal(t, []string{acknowledged(`1`, `{"toolsListChanged":true}`), toolsChanged(`1`)}, messages)
}

func TestOtherRequestsPass(t *testing.T) {
	h := newHub(subscription.Config{})
	h.Close()
	handler := h.Middleware(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		notify([]byte(req.Method))
		return mcp.ErrorResponse(req.ID, mcp.MethodNotFound(req.Method))
	}))
	call := request(t, `1`, `{}`)
	call.Method = mcp.MethodToolsCall
	contract := request(t, `1`, `{}`)
	contract.Profile = mcp.Contract
	for _, req := range []*mcp.Request{call, contract} {
		l := listen(t, handler, req)
		assert.Equal(t, req.Method, receive(t, l.messages))
		assert.Equal(t, jsonrpc.CodeMethodNotFound, receive(t, l.response).Code)
	}
}

func TestErrorsPass(t *testing.T) {
	h := newHub(subscription.Config{MaxSubscriptions: 1})
	for range 2 { // the place is free again
		l := listen(t, h.Middleware(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
			return mcp.ErrorResponse(req.ID, mcp.NoWorkers("p", time.Second))
		})), request(t, `1`, `{}`))
		res := receive(t, l.response)
		assert.Equal(t, mcp.CodeNoWorkers, res.Code)
		assert.Equal(t, time.Second, res.RetryAfter)
		assert.Empty(t, l.messages)
	}
	l := listen(t, h.Middleware(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ResultResponse(req.ID, []byte(`{"notifications":[]}`))
	})), request(t, `1`, `{}`))
	assert.Equal(t, jsonrpc.CodeInternalError, receive(t, l.response).Code)
	assert.Empty(t, l.messages)
	assert.Zero(t, h.Subscriptions())
}

func TestBounds(t *testing.T) {
	h := newHub(subscription.Config{MaxSubscriptions: 3, MaxPerPrincipal: 2})
	handler := h.Middleware(mcp.HandlerFunc(honouring))
	as := func(principal string) *listener {
		req := request(t, `1`, `{}`)
		req.Principal = principal
		return listen(t, handler, req)
	}
	first := as("ann")
	receive(t, first.messages)
	receive(t, as("ann").messages)
	refused := receive(t, as("ann").response)
	assert.Equal(t, mcp.CodeRateLimited, refused.Code)
	assert.Positive(t, refused.RetryAfter)
	receive(t, as("bob").messages)
	assert.Equal(t, 3, h.Subscriptions())
	refused = receive(t, as("bob").response)
	assert.Equal(t, mcp.CodeOverloaded, refused.Code)
	assert.Positive(t, refused.RetryAfter)

	first.gone()
	receive(t, first.response)
	assert.Equal(t, 2, h.Subscriptions())
	receive(t, as("ann").messages)
}

func TestRequestTooLarge(t *testing.T) {
	h := newHub(subscription.Config{})
	l := listen(t, h.Middleware(mcp.HandlerFunc(honouring)), request(t, `1`, `{"padding":"`+strings.Repeat("x", 64<<10)+`"}`))
	assert.Equal(t, mcp.CodeMessageTooLarge, receive(t, l.response).Code)
}

// Equal events that a client has not been sent yet become one, so that a client
// which takes nothing cannot make its subscription grow.
func TestASlowClientGetsEachEventOnce(t *testing.T) {
	h := newHub(subscription.Config{})
	quick := open(t, h, `2`, `{"toolsListChanged":true}`)
	stuck, release := make(chan struct{}), make(chan struct{})
	var messages []string
	done := make(chan *mcp.Response, 1)
	listening := request(t, `1`, `{"toolsListChanged":true,"resourceSubscriptions":["a:1","a:2"]}`)
	go func() {
		done <- h.Middleware(mcp.HandlerFunc(honouring)).Handle(t.Context(),
			listening, func(n []byte) {
				if messages = append(messages, string(n)); len(messages) == 1 {
					close(stuck)
					<-release
				}
			})
	}()
	receive(t, stuck)
	for range 100 {
		h.Publish(pool, mcp.ResourceUpdated("a:2"))
		h.Publish(pool, mcp.ToolsListChanged())
		h.Publish(pool, mcp.ResourceUpdated("a:1"))
		assert.Equal(t, toolsChanged(`2`), receive(t, quick.messages), "others do not wait for it")
	}
	h.Close()
	close(release)
	assert.Equal(t, ended(`1`), string(receive(t, done).Body))
	assert.Equal(t, []string{updated(`1`, "a:2"), toolsChanged(`1`), updated(`1`, "a:1")}, messages[1:])
}

func TestCloseEndsAll(t *testing.T) {
	h := newHub(subscription.Config{})
	var listeners []*listener
	for i := range 10 {
		listeners = append(listeners, open(t, h, fmt.Sprint(i), `{"toolsListChanged":true}`))
	}
	h.Publish(pool, mcp.ToolsListChanged())
	for i, l := range listeners {
		assert.Equal(t, []string{toolsChanged(fmt.Sprint(i))}, l.end(t, h), "what happened before it")
	}
	late := listen(t, h.Middleware(mcp.HandlerFunc(honouring)), request(t, `1`, `{}`))
	assert.Equal(t, mcp.CodeOverloaded, receive(t, late.response).Code)
	assert.Zero(t, h.Subscriptions())
}

// A request that was let in before Close, and answered after it, still ends as
// it should.
func TestCloseWhileOpening(t *testing.T) {
	h := newHub(subscription.Config{})
	l := listen(t, h.Middleware(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		h.Close()
		return honouring(ctx, req, notify)
	})), request(t, `1`, `{}`))
	assert.Equal(t, acknowledged(`1`, `{}`), receive(t, l.messages))
	assert.Equal(t, ended(`1`), string(receive(t, l.response).Body))
}

func TestTheCauseOfTheEndIsTheResponse(t *testing.T) {
	h := newHub(subscription.Config{})
	handler := h.Middleware(mcp.HandlerFunc(honouring))
	for cause, code := range map[error]int{mcp.InternalError(): jsonrpc.CodeInternalError, errors.New("gone"): 0} {
		ctx, cancel := context.WithCancelCause(t.Context())
		res := handler.Handle(ctx, request(t, `1`, `{}`), func([]byte) { cancel(cause) })
		assert.Equal(t, code, res.Code)
	}
	assert.Zero(t, h.Subscriptions())
}

func TestPublishAll(t *testing.T) {
	h := newHub(subscription.Config{})
	l := open(t, h, `1`, `{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}`)
	h.PublishAll()
	assert.ElementsMatch(t, []string{toolsChanged(`1`), updated(`1`, "a:1")}, l.end(t, h))
}

// Subscriptions come and go while events are published; each gets at least one
// event after its acknowledgement, and nothing is left of it.
func TestConcurrency(t *testing.T) {
	const clients, rounds = 8, 50
	h := newHub(subscription.Config{})
	handler := h.Middleware(mcp.HandlerFunc(honouring))
	stop := make(chan struct{})
	var publishers, all sync.WaitGroup
	for range 2 {
		publishers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					h.Publish(pool, mcp.ToolsListChanged())
					h.PublishAll()
				}
			}
		})
	}
	for c := range clients {
		all.Go(func() {
			id := fmt.Sprint(c)
			for range rounds {
				ctx, gone := context.WithCancel(t.Context())
				count := 0
				handler.Handle(ctx, request(t, id, `{"toolsListChanged":true}`), func(n []byte) {
					if count++; count == 1 {
						assert.Equal(t, acknowledged(id, `{"toolsListChanged":true}`), string(n))
						return
					}
					assert.Equal(t, toolsChanged(id), string(n))
					gone()
				})
			}
		})
	}
	all.Wait()
	close(stop)
	publishers.Wait()
	assert.Zero(t, h.Subscriptions())
	assert.Zero(t, h.Keys())
}
