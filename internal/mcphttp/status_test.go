package mcphttp

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestStatuses(t *testing.T) {
	tests := []struct {
		err    *jsonrpc.Error
		status int
		retry  string
	}{
		{&jsonrpc.Error{Code: jsonrpc.CodeParseError}, 400, ""},
		{&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest}, 400, ""},
		{&jsonrpc.Error{Code: mcp.CodeHeaderMismatch}, 400, ""},
		{&jsonrpc.Error{Code: mcp.CodeMissingCapability}, 400, ""},
		{mcp.UnsupportedVersion("x"), 400, ""},
		{mcp.MethodNotFound("x"), 404, ""},
		{mcp.InvalidParams("x"), 200, ""},
		{mcp.InternalError(), 200, ""},
		{&jsonrpc.Error{Code: 4711}, 200, ""},
		{mcp.Overloaded(0), 503, "1"},
		{mcp.Overloaded(time.Second), 503, "1"},
		{mcp.Overloaded(1001 * time.Millisecond), 503, "2"},
		{mcp.NoWorkers("p", 2*time.Minute), 503, "120"},
		{mcp.DeadlineExceeded(true), 504, ""},
		{mcp.OutcomeUnknown("x"), 502, ""},
		{&jsonrpc.Error{Code: mcp.CodeRateLimited, Data: mcp.RetryData{RetryAfterMs: 2500}}, 429, "3"},
		{mcp.MessageTooLarge("response", 1), 413, ""},
	}
	for _, tt := range tests {
		t.Run(strconv.Itoa(tt.err.Code), func(t *testing.T) {
			h := newHandler(t, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
				return mcp.ErrorResponse(req.ID, tt.err)
			}, Config{})
			for _, path := range []string{"/mcp", "/rpc"} {
				r := strictPost()
				r.URL.Path = path
				w := do(h, r)
				assertError(t, w, tt.status, tt.err.Code, "1")
				assert.Equal(t, tt.retry, w.Header().Get("Retry-After"))
			}
		})
	}
}
