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

	mu       sync.Mutex // guards what follows
	requests map[jsonrpc.ID]*flight
	placed   int // those that have a place, max at most
}

type flight struct {
	cancel context.CancelCauseFunc
	placed bool
}

func newInFlight(limit int) inFlight {
	return inFlight{max: limit, requests: make(map[jsonrpc.ID]*flight)}
}

// add takes a request in, unless its id is taken or there is no room.
func (f *inFlight) add(id jsonrpc.ID, cancel context.CancelCauseFunc) *jsonrpc.Error {
	id = canonical(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.requests[id]; taken {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "Invalid request: a request with this id is in flight")
	}
	if f.placed >= f.max {
		return mcp.Overloaded(retryAfter)
	}
	f.requests[id] = &flight{cancel: cancel, placed: true}
	f.placed++
	return nil
}

// release makes room for others although the request stays in flight.
func (f *inFlight) release(id jsonrpc.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveBack(f.requests[canonical(id)])
}

func (f *inFlight) giveBack(r *flight) {
	if r.placed {
		r.placed = false
		f.placed--
	}
}

func (f *inFlight) remove(id jsonrpc.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.giveBack(f.requests[canonical(id)])
	delete(f.requests, canonical(id))
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
	if r, ok := f.requests[canonical(id)]; ok {
		r.cancel(errCancelled)
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
