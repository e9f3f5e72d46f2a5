package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A schema has the definitions of the published schema.
type schema struct {
	Definitions map[string]*definition `json:"$defs"`

	server mcp.Handler
}

// A definition is the part of a schema that says what is required.
type definition struct {
	Ref        string                 `json:"$ref"`
	Const      any                    `json:"const"`
	AnyOf      []*definition          `json:"anyOf"`
	Properties map[string]*definition `json:"properties"`
	Required   []string               `json:"required"`
}

func readSchema(file string) (s schema, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	s.server, err = dispatch.New(dispatch.Config{Toolsets: []mcp.Toolset{exemplary()}, Events: func(mcp.Event) {}}, slog.New(slog.DiscardHandler))
	return s, err
}

// checkRequest has a request accepted, and refused without each member that its
// definition requires. It returns how many these are.
func (s schema) checkRequest(text []byte) (refused int, err error) {
	if code := s.codeOf(text); code != 0 {
		return 0, fmt.Errorf("refused with %d", code)
	}
	var message map[string]any
	if err := json.Unmarshal(text, &message); err != nil {
		return 0, err
	}
	for _, path := range s.required(s.ofMethod(message["method"]), message) {
		if slices.Equal([]string{"id"}, path) {
			continue // without it, it is a notification
		}
		want := jsonrpc.CodeInvalidParams
		if path[0] != "params" {
			want = jsonrpc.CodeInvalidRequest
		}
		if code := s.codeOf(without(text, path)); code != want {
			return refused, fmt.Errorf("without %s: the code is %d, not %d", strings.Join(path, "."), code, want)
		}
		refused++
	}
	return refused, nil
}

// ofMethod returns the definition of the requests of a method.
func (s schema) ofMethod(method any) *definition {
	for name, d := range s.Definitions {
		if m := d.Properties["method"]; m != nil && m.Const == method && strings.HasSuffix(name, "Request") {
			return d
		}
	}
	return nil
}

// required returns the paths of all members of value that d requires.
func (s schema) required(d *definition, value any) (paths [][]string) {
	members, isObject := value.(map[string]any)
	if d = s.resolve(d, members); d == nil || !isObject {
		return nil
	}
	for _, name := range d.Required {
		paths = append(paths, []string{name})
	}
	for name, member := range members {
		for _, path := range s.required(d.Properties[name], member) {
			paths = append(paths, append([]string{name}, path...))
		}
	}
	return paths
}

// resolve follows references, and of several definitions takes that which value
// has all members for.
func (s schema) resolve(d *definition, value map[string]any) *definition {
	for d != nil && d.Ref != "" {
		d = s.Definitions[strings.TrimPrefix(d.Ref, "#/$defs/")]
	}
	if d == nil || len(d.AnyOf) == 0 {
		return d
	}
	for _, one := range d.AnyOf {
		one = s.resolve(one, value)
		if one != nil && !slices.ContainsFunc(one.Required, func(name string) bool { return value[name] == nil }) {
			return one
		}
	}
	return nil
}

// without returns an object that lacks the member at path.
func without(text []byte, path []string) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		panic(err) // it has been decoded before
	}
	if len(path) == 1 {
		delete(members, path[0])
	} else {
		members[path[0]] = without(members[path[0]], path[1:])
	}
	shorter, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return shorter
}

// codeOf answers a request as a transport does, and returns the error's code.
// Cursors are those of another server, so requests with one are not dispatched.
func (s schema) codeOf(text []byte) int {
	req, refusal := mcp.ParseRequest(text)
	if refusal == nil {
		refusal = req.ValidateMeta()
	}
	if refusal == nil {
		refusal = req.ValidateVersion()
	}
	switch {
	case refusal != nil:
		return refusal.Code
	case req.Params.Cursor != nil:
		return 0
	}
	return s.server.Handle(context.Background(), req, func([]byte) {}).Code
}

// exemplary is a toolset of what the examples name.
func exemplary() mcp.Toolset {
	complete := func(context.Context, *mcp.Call, mcp.CompletionQuery) (*mcp.Completion, error) {
		return mcp.CompleteFrom(""), nil
	}
	get := func(context.Context, *mcp.Call, map[string]string) (*mcp.PromptResult, error) {
		return &mcp.PromptResult{}, nil
	}
	set := mcp.Toolset{Resources: anything{}, Prompts: []mcp.ServerPrompt{{Get: get, Complete: complete, Prompt: mcp.Prompt{
		Name: "code_review", Arguments: []mcp.PromptArgument{{Name: "code"}, {Name: "language"}, {Name: "framework"}},
	}}}}
	for _, name := range []string{"get_weather", "build_simulation"} {
		set.Tools = append(set.Tools, mcp.ServerTool{
			Tool: mcp.Tool{Name: name, InputSchema: []byte(`{"type":"object"}`)},
			Run:  func(context.Context, *mcp.ToolCall) (any, error) { return "done", nil },
		})
	}
	return set
}

// anything is a source that has whatever it is asked for.
type anything struct{}

func (anything) Templates() []mcp.ServerTemplate { return nil }

func (anything) List(context.Context, *mcp.Call, string, int) ([]mcp.Resource, error) {
	return nil, nil
}

func (anything) Read(_ context.Context, _ *mcp.Call, uri string) (*mcp.ReadResult, error) {
	return &mcp.ReadResult{Contents: []mcp.ResourceContents{mcp.TextResource(uri, "", "")}}, nil
}
