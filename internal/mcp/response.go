package mcp

import (
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// A Response is an encoded JSON-RPC response and what a transport needs to know
// of it, so that it is not parsed again on its way to the client.
type Response struct {
	Body       []byte        // the JSON-RPC response, compact
	Code       int           // the error's code, 0 for a result
	RetryAfter time.Duration // when to try again; 0 when the response does not say
}

// ResultResponse makes the response that carries result, an encoded object in
// any number of pieces, which are copied.
func ResultResponse(id jsonrpc.ID, result ...[]byte) *Response {
	size := len(id) + len(`{"jsonrpc":"2.0","id":,"result":}`)
	for _, piece := range result {
		size += len(piece)
	}
	return &Response{Body: jsonrpc.AppendResult(make([]byte, 0, size), id, result...)}
}

// ErrorResponse makes the response that carries e.
func ErrorResponse(id jsonrpc.ID, e *jsonrpc.Error) *Response {
	res := &Response{Body: jsonrpc.AppendError(nil, id, e), Code: e.Code}
	if retry, ok := e.Data.(RetryData); ok {
		res.RetryAfter = time.Duration(retry.RetryAfterMs) * time.Millisecond
	}
	return res
}
