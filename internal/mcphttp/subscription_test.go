package mcphttp

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const listenBody = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + meta + `}}`

func listenPost(path, accept string) *http.Request {
	r := post(path, listenBody)
	r.Header.Set("Accept", accept)
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "subscriptions/listen")
	return r
}

func TestSubscriptionsNeedAStream(t *testing.T) {
	w := do(newHandler(t, unreachable(t), Config{}), listenPost("/mcp", "application/json"))
	assertError(t, w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "1")
}

func TestSubscription(t *testing.T) {
	acknowledged := mcp.SubscriptionAcknowledged(mcp.SubscriptionFilter{}).For("1")
	ended := mcp.SubscriptionEnded("1", nil)
	h := newHandler(t, func(_ context.Context, _ *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		notify(acknowledged)
		return ended
	}, Config{})
	for _, accept := range []string{"application/json, text/event-stream", "text/event-stream"} {
		w := do(h, listenPost("/mcp", accept))
		assert.Equal(t, http.StatusOK, w.Code)
		assertStream(t, w.Header())
		assert.Equal(t, string(event(acknowledged))+string(event(ended.Body)), w.Body.String())
	}
}

// The contract profile has no subscriptions, so that the handler can say so in
// JSON.
func TestNoSubscriptionInTheContractProfile(t *testing.T) {
	h := newHandler(t, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ErrorResponse(req.ID, mcp.MethodNotFound(req.Method))
	}, Config{})
	assertError(t, do(h, listenPost("/rpc", "application/json")), http.StatusNotFound, jsonrpc.CodeMethodNotFound, "1")
}
