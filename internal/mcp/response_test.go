package mcp_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestErrors(t *testing.T) {
	tests := []struct {
		err  *jsonrpc.Error
		want string
	}{
		{mcp.Overloaded(1500 * time.Millisecond), `{"code":-31001,"message":"Overloaded: the request was not started, try again later","data":{"retryable":true,"retryAfterMs":1500}}`},
		{mcp.NoWorkers("p", time.Second), `{"code":-31002,"message":"No workers are serving the pool p: the request was not started","data":{"retryable":true,"retryAfterMs":1000}}`},
		{mcp.DeadlineExceeded(false), `{"code":-31003,"message":"Deadline exceeded: the request was not started","data":{"started":false}}`},
		{mcp.DeadlineExceeded(true), `{"code":-31003,"message":"Deadline exceeded: a worker had the request and may have started it; it has been cancelled","data":{"started":true}}`},
		{mcp.OutcomeUnknown("the worker was lost"), `{"code":-31004,"message":"Outcome unknown: the worker was lost; the request may have taken effect","data":{"retryable":false}}`},
		{mcp.MessageTooLarge("request", 1<<20), `{"code":-31006,"message":"Message too large: the request is larger than the limit","data":{"limitBytes":1048576}}`},
		{mcp.UnsupportedVersion("1900-01-01"), `{"code":-32022,"message":"Unsupported protocol version","data":{"requested":"1900-01-01","supported":["2026-07-28"]}}`},
		{mcp.ResourceNotFound("file:///x"), `{"code":-32602,"message":"Resource not found","data":{"uri":"file:///x"}}`},
		{mcp.InvalidParams("%s must be a string", "name"), `{"code":-32602,"message":"Invalid params: name must be a string"}`},
		{mcp.InternalError(), `{"code":-32603,"message":"Internal error"}`},
		{mcp.MethodNotFound("x/y"), `{"code":-32601,"message":"Method not found: x/y"}`},
	}
	for _, test := range tests {
		assertJSON(t, test.want, test.err)
	}
}

func TestMethodNotFoundOfInitialize(t *testing.T) {
	err := mcp.MethodNotFound("initialize")
	assert.Equal(t, jsonrpc.CodeMethodNotFound, err.Code)
	assert.Contains(t, err.Message, "2026-07-28")
	assertJSON(t, `{"supported":["2026-07-28"]}`, err.Data)
}

// What a client sent appears shortened in errors, and never as half a character.
func TestErrorsShortenWhatClientsSent(t *testing.T) {
	for offset := range 4 {
		long := strings.Repeat("x", offset) + strings.Repeat("😀", 1000)
		for _, err := range []*jsonrpc.Error{mcp.MethodNotFound(long), mcp.NoWorkers(long, 0), mcp.UnsupportedVersion(long)} {
			body := mcp.ErrorResponse("1", err).Body
			assert.Less(t, len(body), 400)
			assert.True(t, utf8.Valid(body))
			assert.NotContains(t, string(body), "\ufffd")
			assert.Contains(t, string(body), "😀…")
		}
	}
}

func TestErrorResponse(t *testing.T) {
	res := mcp.ErrorResponse(`"a"`, mcp.Overloaded(1500*time.Millisecond))
	assert.Equal(t, mcp.CodeOverloaded, res.Code)
	assert.Equal(t, 1500*time.Millisecond, res.RetryAfter)
	assert.Equal(t, `{"jsonrpc":"2.0","id":"a","error":{"code":-31001,"message":"Overloaded: the request was not started, try again later",`+
		`"data":{"retryable":true,"retryAfterMs":1500}}}`, string(res.Body))

	res = mcp.ErrorResponse("", mcp.InvalidParams("x"))
	assert.Zero(t, res.RetryAfter)
	assert.Equal(t, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params: x"}}`, string(res.Body))

	rateLimited := &jsonrpc.Error{Code: mcp.CodeRateLimited, Message: "m", Data: mcp.RetryData{RetryAfterMs: 20}}
	assert.Equal(t, 20*time.Millisecond, mcp.ErrorResponse("1", rateLimited).RetryAfter)
}

func TestResultResponse(t *testing.T) {
	res := mcp.ResultResponse("9007199254740993", []byte(`{"tools":[]}`))
	assert.Equal(t, &mcp.Response{Body: []byte(`{"jsonrpc":"2.0","id":9007199254740993,"result":{"tools":[]}}`)}, res)
	assert.Equal(t, res, mcp.ResultResponse("9007199254740993", []byte(`{"tools"`), []byte(`:[]}`)))
}

func TestChain(t *testing.T) {
	var order []string
	named := func(name string) mcp.Middleware {
		return func(next mcp.Handler) mcp.Handler {
			return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
				order = append(order, name)
				return next.Handle(ctx, req, notify)
			})
		}
	}
	want := &mcp.Response{Code: 7}
	last := mcp.HandlerFunc(func(context.Context, *mcp.Request, mcp.NotifyFunc) *mcp.Response {
		order = append(order, "handler")
		return want
	})
	assert.Same(t, want, mcp.Chain(last, named("outer"), named("inner")).Handle(t.Context(), &mcp.Request{}, nil))
	assert.Equal(t, []string{"outer", "inner", "handler"}, order)
	assert.Same(t, want, mcp.Chain(last).Handle(t.Context(), &mcp.Request{}, nil))
}
