package main

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// inputRequired builds the requests for input as handlers do.
func inputRequired(example []byte) ([]byte, error) {
	var in struct {
		ResultType string                    `json:"resultType"`
		Requests   map[string]jsontext.Value `json:"inputRequests"`
		State      string                    `json:"requestState"`
	}
	if err := decode(example, &in); err != nil {
		return nil, err
	}
	required := mcp.InputRequired{State: in.State}
	for id, text := range in.Requests {
		r, err := inputRequest(id, text)
		if err != nil {
			return nil, err
		}
		required.Requests = append(required.Requests, r)
	}
	all := mcp.ClientCapabilities{ElicitationForm: true, ElicitationURL: true, Sampling: true, SamplingTools: true, Roots: true}
	made, err := required.Result(mcp.Strict, all)
	if err != nil {
		return nil, err
	}
	own, err := jsonrpc.Marshal(made)
	return slices.Concat([]byte(`{"resultType":"`+in.ResultType+`",`), own[1:]), err
}

func inputRequest(id string, text []byte) (r mcp.InputRequest, err error) {
	var in struct {
		Method string         `json:"method"`
		Params jsontext.Value `json:"params"`
	}
	if err := decode(text, &in); err != nil {
		return r, err
	}
	switch in.Method {
	case mcp.MethodElicit:
		return elicitation(id, in.Params)
	case mcp.MethodCreateMessage:
		var p mcp.SamplingParams
		err = decode(in.Params, &p)
		return mcp.Sample(id, p), err
	case mcp.MethodListRoots:
		return mcp.ListRoots(id), nil
	}
	return r, errors.New("no such request for input")
}

func elicitation(id string, params []byte) (r mcp.InputRequest, err error) {
	var in struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
		Schema  struct {
			Type       string           `json:"type"`
			Properties map[string]field `json:"properties"`
			Required   []string         `json:"required"`
		} `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return r, err
	}
	if in.Mode == "url" {
		return mcp.Visit(id, in.Message, in.URL), nil
	}
	var fields []mcp.Field
	for _, name := range in.Schema.Required { // in this order, which the encoded form has
		fields = append(fields, in.Schema.Properties[name].named(name, true))
		delete(in.Schema.Properties, name)
	}
	for name, f := range in.Schema.Properties {
		fields = append(fields, f.named(name, false))
	}
	return mcp.Form(id, in.Message, fields...), nil
}

// A field is a field of a form as its schema has it.
type field struct {
	plain `json:",embed"`

	choice `json:",embed"`
	Items  *choice `json:"items"`
}

// A plain field has no JSON form of its own.
type plain mcp.Field

// A choice is the part of a schema that lists what may be chosen.
type choice struct {
	Enum  []string `json:"enum"`
	OneOf []option `json:"oneOf"`
	AnyOf []option `json:"anyOf"`
}

type option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func (f field) named(name string, required bool) mcp.Field {
	made := mcp.Field(f.plain)
	made.Name, made.Required = name, required
	from := f.choice
	switch {
	case f.Items != nil:
		made.Type, from = mcp.ChoicesField, *f.Items
	case from.Enum != nil || from.OneOf != nil:
		made.Type = mcp.ChoiceField
	}
	for _, value := range from.Enum {
		made.Options = append(made.Options, mcp.Option{Value: value})
	}
	for _, o := range slices.Concat(from.OneOf, from.AnyOf) {
		made.Options = append(made.Options, mcp.Option{Value: o.Const, Title: o.Title})
	}
	return made
}

// answer is the codec of what a client answers, which find finds.
func answer[T any](find func(mcp.InputResponses, string) (T, bool)) codec {
	return func(example []byte) ([]byte, error) {
		v, ok := find(mcp.InputResponses{"x": example}, "x")
		if !ok {
			return nil, errors.New("is not understood as an answer")
		}
		return jsonrpc.Marshal(v)
	}
}

func roots(example []byte) ([]byte, error) {
	list, err := answer(mcp.InputResponses.Roots)(example)
	return slices.Concat([]byte(`{"roots":`), list, []byte(`}`)), err
}
