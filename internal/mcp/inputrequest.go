package mcp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// An InputRequest is one question to the client. Ask, Form, Visit, Sample and
// ListRoots make one; its JSON form is what the contract profile shows.
type InputRequest struct {
	ID     string `json:"id"` // the key of its answer
	Prompt string `json:"prompt,omitzero"`
	Method string `json:"method,omitzero"` // empty for a plain question
	Params any    `json:"params,omitzero"`

	fields []Field // of a form, which its answer has to fit
}

// Ask returns a plain question, which InputResponses.Text finds the answer to.
// Clients of the strict profile see it as a form with one field.
func Ask(id, prompt string) InputRequest { return InputRequest{ID: id, Prompt: prompt} }

// Form returns a request for a form that the user fills in.
//
// Spec: Elicitation, Form Mode Elicitation Requests.
func Form(id, message string, fields ...Field) InputRequest {
	schema := formSchema{Type: "object", Properties: make(map[string]Field, len(fields))}
	for _, f := range fields {
		schema.Properties[f.Name] = f
		if f.Required {
			schema.Required = append(schema.Required, f.Name)
		}
	}
	return InputRequest{
		ID: id, Method: MethodElicit, fields: fields,
		Params: formParams{Mode: modeForm, Message: message, Schema: schema},
	}
}

type formParams struct {
	Mode    string     `json:"mode"`
	Message string     `json:"message"`
	Schema  formSchema `json:"requestedSchema"`
}

type formSchema struct {
	Type       string           `json:"type"`
	Properties map[string]Field `json:"properties"`
	Required   []string         `json:"required,omitempty"`
}

// Visit returns a request that the user open url, where something happens that
// must not pass through the client. That the client accepts means that the user
// agreed, not that it is done.
//
// Spec: Elicitation, URL Mode Elicitation Requests.
func Visit(id, message, url string) InputRequest {
	return InputRequest{
		ID: id, Method: MethodElicit,
		Params: visitParams{Mode: modeURL, Message: message, URL: url},
	}
}

type visitParams struct {
	Mode    string `json:"mode"`
	Message string `json:"message"`
	URL     string `json:"url"`
}

// Sample returns a request that the client's model answer p.
//
// Spec: Sampling.
func Sample(id string, p SamplingParams) InputRequest {
	return InputRequest{ID: id, Method: MethodCreateMessage, Params: p}
}

// SamplingParams is a conversation for a model to continue.
//
// Spec: schema, CreateMessageRequestParams.
type SamplingParams struct {
	Messages         []Message         `json:"messages"`
	MaxTokens        int               `json:"maxTokens"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	Temperature      *float64          `json:"temperature,omitzero"`
	StopSequences    []string          `json:"stopSequences,omitempty"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	Tools            []Tool            `json:"tools,omitempty"`
	ToolChoice       *ToolChoice       `json:"toolChoice,omitzero"`
}

// ModelPreferences help the client to choose a model; priorities are from 0 to 1.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitempty"`
	CostPriority         *float64    `json:"costPriority,omitzero"`
	SpeedPriority        *float64    `json:"speedPriority,omitzero"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitzero"`
}

// A ModelHint is a part of a model's name.
type ModelHint struct {
	Name string `json:"name,omitzero"`
}

// A ToolChoice says whether the model uses tools: "auto", "required" or "none".
type ToolChoice struct {
	Mode string `json:"mode,omitzero"`
}

// ListRoots returns a request for the client's root directories.
//
// Spec: Roots.
func ListRoots(id string) InputRequest { return InputRequest{ID: id, Method: MethodListRoots} }

// strict returns the request in the form that MCP defines.
func (r InputRequest) strict() InputRequest {
	if r.Method == "" {
		return Form(r.ID, r.Prompt, Field{Name: r.ID, Type: TextField, Required: true})
	}
	return r
}

// needs names the capability that a client has to declare to be sent r, which is
// in strict form, and the sub-capability, if there is one. They depend on what
// the client would be sent, whoever has made that.
func (r InputRequest) needs() (capability, mode string) {
	var p struct {
		Mode       jsontext.Value `json:"mode"`
		Tools      jsontext.Value `json:"tools"`
		ToolChoice jsontext.Value `json:"toolChoice"`
	}
	if encoded, err := jsonrpc.Marshal(r.Params); err == nil { // else the result cannot be encoded either
		_ = json.Unmarshal(encoded, &p) // what is no object has no mode
	}
	switch r.Method {
	case MethodElicit:
		mode, _ = Text(p.Mode)
		if IsAbsent(p.Mode) {
			mode = modeForm
		}
		return capabilityElicitation, mode
	case MethodCreateMessage:
		if !IsAbsent(p.Tools) || !IsAbsent(p.ToolChoice) {
			mode = modeTools
		}
		return capabilitySampling, mode
	case MethodListRoots:
		return capabilityRoots, ""
	}
	return r.Method, ""
}
