package mcp

import (
	"strings"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// Codes that MCP defines beside those of JSON-RPC.
//
// Spec: MCP 2026-07-28, Base Protocol, Error Codes.
const (
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Codes of this server, outside the range that JSON-RPC reserves. Once
// published, a code never changes its meaning.
const (
	CodeOverloaded       = -31001 // the queue is full or the wait would pass the deadline; nothing started
	CodeNoWorkers        = -31002 // no worker serves this pool, or none can be reached; nothing started
	CodeDeadlineExceeded = -31003 // data.started is false if it is proven that the call had not begun
	CodeOutcomeUnknown   = -31004 // the worker was lost or had to stop before the call was done: it may or may not have taken effect
	CodeRateLimited      = -31005
	CodeMessageTooLarge  = -31006 // data.limitBytes tells the limit
)

// RetryData is the data of errors that name a time to try again.
type RetryData struct {
	Retryable    bool  `json:"retryable"`
	RetryAfterMs int64 `json:"retryAfterMs"`
}

// Overloaded says that nothing was started, and when to try again.
func Overloaded(retryAfter time.Duration) *jsonrpc.Error {
	return retryable(CodeOverloaded, "Overloaded: the request was not started, try again later", retryAfter)
}

// NoWorkers says that no worker serves pool at the moment.
func NoWorkers(pool string, retryAfter time.Duration) *jsonrpc.Error {
	return retryable(CodeNoWorkers, "No workers are serving the pool "+shorten(pool)+": the request was not started", retryAfter)
}

// RateLimited says that the principal has as many of what as it may have, and
// when to try again.
func RateLimited(what string, retryAfter time.Duration) *jsonrpc.Error {
	return retryable(CodeRateLimited, "Rate limited: too many "+what+" of the same principal; nothing was started", retryAfter)
}

// BusDown says that the server cannot reach its workers at the moment.
func BusDown(retryAfter time.Duration) *jsonrpc.Error {
	return retryable(CodeNoWorkers, "No connection to the workers: the request was not started", retryAfter)
}

func retryable(code int, message string, after time.Duration) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: message, Data: RetryData{Retryable: true, RetryAfterMs: after.Milliseconds()}}
}

// DeadlineExceeded says that the time for the request is over. Only that it was
// not started can be proven; started says that a worker had it.
func DeadlineExceeded(started bool) *jsonrpc.Error {
	message := "Deadline exceeded: the request was not started"
	if started {
		message = "Deadline exceeded: a worker had the request and may have started it; it has been cancelled"
	}
	return &jsonrpc.Error{Code: CodeDeadlineExceeded, Message: message, Data: map[string]any{"started": started}}
}

// OutcomeUnknown says that the request was handed to a worker whose answer will
// not come.
func OutcomeUnknown(reason string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    CodeOutcomeUnknown,
		Message: "Outcome unknown: " + reason + "; the request may have taken effect",
		Data:    map[string]any{"retryable": false},
	}
}

// MessageTooLarge names the limit that a request or response has passed.
func MessageTooLarge(what string, limitBytes int64) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    CodeMessageTooLarge,
		Message: "Message too large: the " + what + " is larger than the limit",
		Data:    map[string]any{"limitBytes": limitBytes},
	}
}

// UnsupportedVersion lists the versions that a client can use instead.
func UnsupportedVersion(requested string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    CodeUnsupportedVersion,
		Message: "Unsupported protocol version",
		Data:    map[string]any{"supported": SupportedVersions(), "requested": shorten(requested)},
	}
}

// ResourceNotFound says that there is no resource of that URI.
//
// Spec: Resources, Error Handling.
func ResourceNotFound(uri string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: map[string]any{"uri": uri}}
}

// InvalidParams says what is wrong with a member of params.
func InvalidParams(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: "+format, args...)
}

// InternalError hides a cause that is not for the client.
func InternalError() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInternalError, "Internal error")
}

// shorten bounds what a client sent before it is put into a message.
func shorten(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
