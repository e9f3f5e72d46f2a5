package dispatch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// maxState bounds what one round of a request leaves for the next, in bytes.
const maxState = 64 << 10

// A round is what a request that asks for input leaves for the one that brings
// it: sealed into requestState, since nothing is kept here.
//
// Spec: MCP 2026-07-28, Multi Round-Trip Requests, Server Requirements.
type round struct {
	State   string             `json:"state,omitzero"`
	Answers mcp.InputResponses `json:"answers,omitempty"`
}

// open returns the call that req makes, with what the last round left.
func (d *Dispatcher) open(req *mcp.Request, notify mcp.NotifyFunc) (*mcp.Call, error) {
	last, err := d.resume(req)
	if err != nil {
		return nil, err
	}
	call, refusal := mcp.NewCall(req, mcp.CallConfig{
		Notify: notify, Events: d.events, Logs: d.catalogue.logs, Answers: last.Answers, State: last.State,
	})
	if refusal != nil {
		return nil, refusal
	}
	return call, nil
}

// resume returns what the last round left. A requestState that this server has not
// sealed for this request is refused, and that of no round is none.
func (d *Dispatcher) resume(req *mcp.Request) (last round, err error) {
	sealed, ok := mcp.Text(req.Params.RequestState)
	switch {
	case !ok && !mcp.IsAbsent(req.Params.RequestState):
		return last, mcp.InvalidParams("requestState must be a string")
	case sealed == "":
		return last, nil
	case d.keys == nil:
		return last, mcp.InvalidParams("requestState: %v", errNoState)
	}
	plain, err := d.keys.Open(sealed, purpose(req))
	if err != nil {
		return last, mcp.InvalidParams("requestState: %v", err)
	}
	if err := json.Unmarshal(plain, &last); err != nil { // it is ours, so that this is no fault of the client
		return last, fmt.Errorf("decode request state: %w", err)
	}
	return last, nil
}

var errNoState = errors.New("this server keeps no request state, as it has no keys")

// suspend returns ask with what the next round needs, sealed, as its state, or
// the error that prevents it. The answers that came with this request are in it,
// except to what is asked again.
func (d *Dispatcher) suspend(req *mcp.Request, call *mcp.Call, ask *mcp.InputRequired) error {
	left := round{State: ask.State, Answers: call.Answered()}
	for _, r := range ask.Requests {
		delete(left.Answers, r.ID)
	}
	if left.State == "" && len(left.Answers) == 0 {
		return ask
	}
	if d.keys == nil {
		return errNoState
	}
	plain, err := jsonrpc.Marshal(left)
	if err != nil {
		return fmt.Errorf("encode request state: %w", err)
	}
	switch {
	case len(left.State) > maxState:
		return fmt.Errorf("request state of %d bytes, at most %d can be kept", len(left.State), maxState)
	case len(plain) > maxState: // which is the client's doing
		return mcp.InvalidParams("inputResponses: %d bytes with what is kept of earlier ones, at most %d are allowed", len(plain), maxState)
	}
	return &mcp.InputRequired{Requests: ask.Requests, State: d.keys.Seal(plain, purpose(req))}
}

// purpose is what a requestState is good for: this principal's request of this
// method for this target with these arguments. A client may write the arguments
// in another order, but not others.
func purpose(req *mcp.Request) []byte {
	target, _ := req.Target()
	arguments := slices.Clone(req.Params.Arguments)
	if len(arguments) > 0 {
		// It has been parsed, so that this cannot fail; numbers stay as they are.
		_ = arguments.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	}
	text, _ := jsonrpc.Marshal([]any{req.Pool, req.Principal, req.Method, target, sha256.Sum256(arguments)})
	return text
}
