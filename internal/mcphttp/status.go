package mcphttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// statusOf is the HTTP status for a response with the error code, or with a
// result if code is 0. Errors that say nothing about the HTTP request are 200:
// so is -32602, except for the metadata that this package checks itself.
//
// Spec: MCP 2026-07-28, Streamable HTTP, and Base Protocol, _meta.
func statusOf(code int) int {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest,
		mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return http.StatusBadRequest
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.CodeMessageTooLarge:
		return http.StatusRequestEntityTooLarge
	case mcp.CodeRateLimited:
		return http.StatusTooManyRequests
	case mcp.CodeOutcomeUnknown:
		return http.StatusBadGateway
	case mcp.CodeOverloaded, mcp.CodeNoWorkers:
		return http.StatusServiceUnavailable
	case mcp.CodeDeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusOK
}

// retryAfter is the value of Retry-After for d: whole seconds, never too few,
// and never an invitation to come back at once.
func retryAfter(d time.Duration) string {
	seconds := (d + time.Second - 1) / time.Second
	return strconv.FormatInt(int64(max(seconds, 1)), 10)
}

// A refusal is an answer that this package gives without asking the handler.
type refusal struct {
	status int
	err    *jsonrpc.Error // nil where there is no endpoint that could speak JSON-RPC
	hint   string         // what is said instead
}

// refuse returns a refusal of an HTTP request that is wrong as such.
func refuse(status int, message string) *refusal {
	return &refusal{status: status, err: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "Invalid request: %s", message)}
}

// refuseWith returns a refusal with the status that belongs to err.
func refuseWith(err *jsonrpc.Error) *refusal {
	return &refusal{status: statusOf(err.Code), err: err}
}
