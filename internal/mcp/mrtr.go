package mcp

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
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
//
// Spec: MCP 2026-07-28, Multi Round-Trip Requests.
type InputRequired struct {
	Requests []InputRequest
	State    string // may be empty
}

func (e *InputRequired) Error() string {
	ids := make([]string, len(e.Requests))
	for i, r := range e.Requests {
		ids[i] = r.ID
	}
	return "client input required: " + strings.Join(ids, ", ")
}

// An InputRequest is one question to the client. Ask and Elicit make one; its
// JSON form is what the contract profile shows.
type InputRequest struct {
	ID     string `json:"id"` // the key of its answer
	Prompt string `json:"prompt,omitzero"`
	Method string `json:"method,omitzero"` // empty for a plain question
	Params any    `json:"params,omitzero"`
}

// Ask returns a plain question, which InputResponses.Text finds the answer to.
// Clients of the strict profile see it as a form with one field.
func Ask(id, prompt string) InputRequest { return InputRequest{ID: id, Prompt: prompt} }

// Elicit returns a request for a form. properties are the restricted schemas of
// its fields.
//
// Spec: Elicitation, Requested Schema.
func Elicit(id, message string, properties map[string]any, required ...string) InputRequest {
	return InputRequest{ID: id, Method: MethodElicit, Params: elicitParams{
		Mode:    "form",
		Message: message,
		Schema:  formSchema{Type: "object", Properties: properties, Required: required},
	}}
}

type elicitParams struct {
	Mode    string     `json:"mode"`
	Message string     `json:"message"`
	Schema  formSchema `json:"requestedSchema"`
}

type formSchema struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required,omitempty"`
}

// strict returns the request in the form that MCP defines.
func (r InputRequest) strict() InputRequest {
	if r.Method != "" {
		return r
	}
	return Elicit(r.ID, r.Prompt, map[string]any{r.ID: map[string]any{"type": "string"}}, r.ID)
}

// Result returns what a client of the given profile is answered, to be encoded
// as JSON and without the members that every result has. The error is a
// *jsonrpc.Error, -32021, if the client did not declare that it can answer: this
// is the one place that guards all handlers. Any other error is the handler's
// fault: it asked for nothing and has no state.
func (e *InputRequired) Result(profile Profile, capabilities ClientCapabilities) (any, error) {
	if profile == Contract {
		return contractInputRequired{
			Requests: e.Requests,
			Content:  []Content{TextContent("Additional client input is required before this tool can finish.")},
		}, nil
	}
	if len(e.Requests) == 0 && e.State == "" {
		return nil, errors.New("a handler asked for input, but has neither requests nor a state")
	}
	missing := map[string]any{}
	requests := make(map[string]strictInputRequest, len(e.Requests))
	for _, r := range e.Requests {
		r = r.strict()
		if capability, ok := capabilities.declared(r.Method); !ok {
			missing[capability] = struct{}{}
		}
		requests[r.ID] = strictInputRequest{Method: r.Method, Params: r.Params}
	}
	if len(missing) > 0 {
		return nil, MissingCapability(missing)
	}
	return strictInputRequired{Requests: requests, State: e.State}, nil
}

// declared tells which capability answers an input request of method, and
// whether the client has declared it.
func (c ClientCapabilities) declared(method string) (capability string, ok bool) {
	switch method {
	case MethodElicit:
		return "elicitation", c.ElicitationForm
	case MethodCreateMessage:
		return "sampling", c.Sampling
	case MethodListRoots:
		return "roots", c.Roots
	}
	return method, false
}

// MissingCapability lists capabilities without which the request cannot be
// answered, each with its settings.
func MissingCapability(required map[string]any) *jsonrpc.Error {
	names := slices.Sorted(maps.Keys(required))
	return &jsonrpc.Error{
		Code:    CodeMissingCapability,
		Message: "Missing required client capability: " + strings.Join(names, ", "),
		Data:    map[string]any{"requiredCapabilities": required},
	}
}

type contractInputRequired struct {
	Requests []InputRequest `json:"requests"`
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

// InputResponses has a client's answers, by the id of the input request. Their
// content is whatever the client sent; answers that were not asked for are to
// be ignored, and missing ones asked for again.
type InputResponses map[string]jsontext.Value

func parseInputResponses(raw jsontext.Value) (InputResponses, *jsonrpc.Error) {
	if IsAbsent(raw) {
		return nil, nil
	}
	var responses InputResponses
	if err := json.Unmarshal(raw, &responses); err != nil {
		return nil, InvalidParams("inputResponses must be an object")
	}
	return responses, nil
}

// An ElicitResult is a client's answer to a form.
//
// Spec: schema, ElicitResult.
type ElicitResult struct {
	Action  string                    `json:"action"`
	Content map[string]jsontext.Value `json:"content"`
}

// Accepted tells whether the user filled the form in.
func (e ElicitResult) Accepted() bool { return e.Action == "accept" }

// Elicited returns the answer to the form id; ok is false when there is none of
// that shape.
func (r InputResponses) Elicited(id string) (result ElicitResult, ok bool) {
	raw, ok := r[id]
	if !ok || raw.Kind() != '{' {
		return ElicitResult{}, false
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return ElicitResult{}, false
	}
	switch result.Action {
	case "accept", "decline", "cancel":
		return result, true
	}
	return ElicitResult{}, false
}

// Text returns the answer to the plain question id: the string itself, or that
// of the form which the question was shown as.
func (r InputResponses) Text(id string) (answer string, ok bool) {
	if answer, ok = Text(r[id]); ok {
		return answer, true
	}
	if form, ok := r.Elicited(id); ok && form.Accepted() {
		return Text(form.Content[id])
	}
	return "", false
}
