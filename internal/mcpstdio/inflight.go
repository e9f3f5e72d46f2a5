package mcpstdio

import (
	"context"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// inFlight has the requests that are not answered yet. Its methods may be
// called concurrently.
type inFlight struct {
	max int

	mu      sync.Mutex // guards cancels
	cancels map[jsonrpc.ID]context.CancelCauseFunc
}

func newInFlight(limit int) inFlight {
	return inFlight{max: limit, cancels: make(map[jsonrpc.ID]context.CancelCauseFunc)}
}

// add takes a request in, unless its id is taken or there is no room.
func (f *inFlight) add(id jsonrpc.ID, cancel context.CancelCauseFunc) *jsonrpc.Error {
	id = canonical(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.cancels[id]; taken {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "Invalid request: a request with this id is in flight")
	}
	if len(f.cancels) >= f.max {
		return mcp.Overloaded(retryAfter)
	}
	f.cancels[id] = cancel
	return nil
}

func (f *inFlight) remove(id jsonrpc.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.cancels, canonical(id))
}

// cancel cancels the request that a client means by requestID. If there is
// none, it has been answered, or the client is wrong: both are ignored.
//
// Spec: MCP 2026-07-28, Cancellation, Error Handling.
func (f *inFlight) cancel(requestID jsontext.Value) {
	id, ok := jsonrpc.ParseID(requestID)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel, ok := f.cancels[canonical(id)]; ok {
		cancel(errCancelled)
	}
}

// canonical makes ids equal that are the same string in different escapes.
func canonical(id jsonrpc.ID) jsonrpc.ID {
	if !strings.Contains(string(id), `\`) {
		return id
	}
	text, _ := mcp.Text(jsontext.Value(id)) // an id is valid JSON
	return jsonrpc.StringID(text)
}
