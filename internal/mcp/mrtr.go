package mcp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// Methods of input requests.
const (
	MethodElicit        = "elicitation/create"
	MethodCreateMessage = "sampling/createMessage"
	MethodListRoots     = "roots/list"
)

// InputRequired is the error that a handler returns to ask the client for
// input. The client gathers it and sends the request again, with the answers in
// Call.InputResponses and State in Call.RequestState; nothing is kept here.
// Call.Input makes one; a handler that has state of its own makes it itself.
//
// Spec: MCP 2026-07-28, Multi Round-Trip Requests.
type InputRequired struct {
	Requests []InputRequest
	// State comes back with the answers, from this client and for this request
	// only, since it is sealed on its way. It may be empty.
	State string
}

func (e *InputRequired) Error() string {
	ids := make([]string, len(e.Requests))
	for i, r := range e.Requests {
		ids[i] = r.ID
	}
	return "client input required: " + strings.Join(ids, ", ")
}

// Result returns what a client of the given profile is answered, to be encoded
// as JSON and without the members that every result has. The error is a
// *jsonrpc.Error, -32021, if the client did not declare that it can answer: this
// is the one place that guards all handlers. Any other error is the handler's
// fault: it asked for nothing and has no state, or used an id twice. The contract
// profile has none of these rules, and shows the requests as the handler made
// them.
func (e *InputRequired) Result(profile Profile, capabilities ClientCapabilities) (any, error) {
	if profile == Contract {
		return contractInputRequired{
			Requests: e.Requests,
			State:    e.State,
			Content:  []Content{TextContent("Additional client input is required before this tool can finish.")},
		}, nil
	}
	if len(e.Requests) == 0 && e.State == "" {
		return nil, errors.New("a handler asked for input, but has neither requests nor a state")
	}
	requests, err := e.strictRequests(capabilities)
	if err != nil {
		return nil, err
	}
	return strictInputRequired{Requests: requests, State: e.State}, nil
}

// Encoded returns the requests by their ids, for a task to keep until the client
// asks for them. The errors are those of Result.
func (e *InputRequired) Encoded(capabilities ClientCapabilities) (map[string]jsontext.Value, error) {
	requests, err := e.strictRequests(capabilities)
	if err != nil {
		return nil, err
	}
	encoded := make(map[string]jsontext.Value, len(requests))
	for id, r := range requests {
		if encoded[id], err = jsonrpc.Marshal(r); err != nil {
			return nil, fmt.Errorf("encode the input request %s: %w", shorten(id), err)
		}
	}
	return encoded, nil
}

func (e *InputRequired) strictRequests(capabilities ClientCapabilities) (map[string]strictInputRequest, error) {
	missing := requirements{}
	requests := make(map[string]strictInputRequest, len(e.Requests))
	for _, r := range e.Requests {
		r = r.strict()
		if !capabilities.cover(r) {
			missing.add(r)
		}
		if _, taken := requests[r.ID]; taken {
			return nil, fmt.Errorf("a handler asked for two inputs with the id %s", shorten(r.ID))
		}
		requests[r.ID] = strictInputRequest{Method: r.Method, Params: r.Params}
	}
	if len(missing) > 0 {
		return nil, missing.err()
	}
	return requests, nil
}

type contractInputRequired struct {
	Requests []InputRequest `json:"requests"`
	State    string         `json:"requestState,omitzero"`
	Content  []Content      `json:"content"`
}

type strictInputRequired struct {
	Requests map[string]strictInputRequest `json:"inputRequests,omitempty"`
	State    string                        `json:"requestState,omitzero"`
}

type strictInputRequest struct {
	Method string `json:"method"`
	Params any    `json:"params,omitzero"`
}

// Require is the error for a client that has not declared what r needs; nil if
// it has. A handler asks before it does something that would be in vain.
func (c *Call) Require(r InputRequest) error {
	if c.Capabilities.cover(r.strict()) {
		return nil
	}
	missing := requirements{}
	missing.add(r.strict())
	return missing.err()
}

// cover tells whether the client has declared what r needs.
func (c ClientCapabilities) cover(r InputRequest) bool {
	switch capability, mode := r.needs(); capability {
	case capabilityElicitation:
		return mode == modeForm && c.ElicitationForm || mode == modeURL && c.ElicitationURL
	case capabilitySampling:
		return c.Sampling && (mode == "" || c.SamplingTools)
	case capabilityRoots:
		return c.Roots
	}
	return false
}

// requirements are client capabilities as the specification writes them.
type requirements map[string]map[string]struct{}

func (q requirements) add(r InputRequest) {
	capability, mode := r.needs()
	if q[capability] == nil {
		q[capability] = map[string]struct{}{}
	}
	if mode != "" {
		q[capability][mode] = struct{}{}
	}
}

// err is the error that lists them.
//
// Spec: schema, MissingRequiredClientCapabilityError.
func (q requirements) err() *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    CodeMissingCapability,
		Message: "Missing required client capability: " + strings.Join(slices.Sorted(maps.Keys(q)), ", "),
		Data:    map[string]any{"requiredCapabilities": q},
	}
}
