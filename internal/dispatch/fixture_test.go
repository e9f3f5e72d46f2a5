package dispatch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// strictMeta is a valid _meta of a client without capabilities.
const strictMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// elicitMeta is that of a client that can show forms.
const elicitMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

func newDispatcher(t testing.TB, cfg dispatch.Config) *dispatch.Dispatcher {
	t.Helper()
	d, err := dispatch.New(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return d
}

func parse(t testing.TB, profile mcp.Profile, raw string) *mcp.Request {
	t.Helper()
	req, refusal := mcp.ParseRequest([]byte(raw))
	require.Nil(t, refusal)
	req.Profile = profile
	return req
}

// handle answers raw, a valid request, as a transport would.
func handle(t testing.TB, h mcp.Handler, profile mcp.Profile, raw string) string {
	t.Helper()
	return string(h.Handle(t.Context(), parse(t, profile, raw), func([]byte) {}).Body)
}

func fixture() dispatch.Config {
	return dispatch.Config{
		Server:       mcp.Implementation{Name: "fixture", Version: "1.0.0"},
		Instructions: "Be brief.",
		Events:       func(mcp.Event) {},
		Toolsets: []mcp.Toolset{
			{Name: "text", Tools: textTools(), Prompts: fixturePrompts(), Resources: completing{memory{"mem://b": "B", "mem://a": "A"}}},
			{Name: "faults", Instructions: "Avoid these.", Tools: faultyTools(), Resources: memory{"mem://a": "hides no other", "mem://c": "C"}},
		},
	}
}

type run = func(ctx context.Context, call *mcp.ToolCall) (any, error)

func tool(name, input string, run run) mcp.ServerTool {
	return mcp.ServerTool{Tool: mcp.Tool{Name: name, InputSchema: jsontext.Value(input)}, Run: run}
}

func withOutput(schema string, t mcp.ServerTool) mcp.ServerTool {
	t.OutputSchema = jsontext.Value(schema)
	return t
}

func returns(value any, err error) run {
	return func(context.Context, *mcp.ToolCall) (any, error) { return value, err }
}

const (
	anyObject  = `{"type":"object"}`
	textObject = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	sumObject  = `{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}`
)

func textTools() []mcp.ServerTool {
	echo := tool("echo", textObject, func(_ context.Context, call *mcp.ToolCall) (any, error) {
		return call.Values["text"], nil
	})
	echo.Description = "Says it again"
	return []mcp.ServerTool{
		echo,
		tool("ask", anyObject, ask),
		tool("blocks", anyObject, returns(&mcp.ToolResult{Content: []mcp.Content{
			mcp.TextContent("see"), {Type: "image", Data: []byte("png"), MIMEType: "image/png"},
		}}, nil)),
		tool("garbled", anyObject, returns("\x1b[2J\xff", nil)),
		tool("list", anyObject, returns([]int{1, 2}, nil)),
		tool("nothing", anyObject, returns(nil, nil)),
		tool("number", `{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`,
			func(_ context.Context, call *mcp.ToolCall) (any, error) { return call.Values["n"], nil }),
		tool("pair", `{"type":"object","required":["second","first"],"properties":{"first":{"type":"integer"}},"additionalProperties":false}`,
			returns("paired", nil)),
		tool("raw", anyObject, func(_ context.Context, call *mcp.ToolCall) (any, error) { return string(call.Arguments), nil }),
		tool("sample", anyObject, returns(nil, &mcp.InputRequired{
			Requests: []mcp.InputRequest{mcp.Sample("joke", mcp.SamplingParams{MaxTokens: 1})},
		})),
		tool("silent", anyObject, returns(&mcp.ToolResult{}, nil)),
		tool("structured", anyObject, returns(&mcp.ToolResult{Structured: map[string]int{"b": 2, "a": 1}}, nil)),
		withOutput(sumObject, tool("sum", anyObject, returns(map[string]int{"total": 3}, nil))),
		withOutput(`{"type":"string"}`, tool("word", anyObject, returns("yes", nil))),
	}
}

func ask(_ context.Context, call *mcp.ToolCall) (any, error) {
	if name, ok := call.InputResponses.Text("name"); ok {
		return "Hello, " + name, nil
	}
	return nil, fmt.Errorf("greet: %w", &mcp.InputRequired{
		Requests: []mcp.InputRequest{mcp.Ask("name", "Who are you?")},
	})
}

func faultyTools() []mcp.ServerTool {
	var nilResult *mcp.ToolResult
	return []mcp.ServerTool{
		tool("fail", anyObject, returns("ignored", errors.New("the disk is full"))),
		tool("nil_result", anyObject, returns(nilResult, nil)),
		tool("no_json", anyObject, returns(func() {}, nil)),
		tool("panic", anyObject, func(context.Context, *mcp.ToolCall) (any, error) { panic("boom") }),
		tool("protocol", anyObject, returns(nil, fmt.Errorf("wrapped: %w",
			&jsonrpc.Error{Code: mcp.CodeOverloaded, Message: "later", Data: map[string]any{"n": 1}}))),
		tool("refuse", anyObject, returns(&mcp.ToolResult{Content: []mcp.Content{mcp.TextContent("no")}, IsError: true}, nil)),
		withOutput(sumObject, tool("sum_missing", anyObject, returns(&mcp.ToolResult{Content: []mcp.Content{mcp.TextContent("3")}}, nil))),
		withOutput(sumObject, tool("sum_refused", anyObject, returns(&mcp.ToolResult{Content: []mcp.Content{mcp.TextContent("no")}, IsError: true}, nil))),
		withOutput(sumObject, tool("sum_wrong", anyObject, returns(map[string]string{"total": "secret"}, nil))),
	}
}

func fixturePrompts() []mcp.ServerPrompt {
	return []mcp.ServerPrompt{
		{
			Prompt: mcp.Prompt{Name: "greet", Description: "Says hello", Arguments: []mcp.PromptArgument{
				{Name: "name", Required: true}, {Name: "tone"},
			}},
			Get: func(_ context.Context, _ *mcp.Call, arguments map[string]string) (*mcp.PromptResult, error) {
				text := fmt.Sprintf("Greet %s, %s", arguments["name"], cmp.Or(arguments["tone"], "kindly"))
				return &mcp.PromptResult{Messages: []mcp.Message{{Role: mcp.RoleUser, Content: mcp.TextContent(text)}}}, nil
			},
			Complete: completeGreeting,
		},
		prompt("absent", fs.ErrNotExist),
		prompt("ask", &mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("topic", "About what?")}}),
		prompt("broken", errors.New("secret path")),
		prompt("empty", nil),
		{Prompt: mcp.Prompt{Name: "panic"}, Get: func(context.Context, *mcp.Call, map[string]string) (*mcp.PromptResult, error) { panic("boom") }},
	}
}

func completeGreeting(_ context.Context, _ *mcp.Call, query mcp.CompletionQuery) (*mcp.Completion, error) {
	switch query.Value {
	case "many":
		return &mcp.Completion{Values: []string{"many hellos"}, Total: 5000}, nil
	case "nil":
		return nil, nil
	case "broken":
		return nil, errors.New("secret path")
	case "panic":
		panic("boom")
	case "ask":
		return nil, &mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("tone", "Which?")}}
	}
	return mcp.CompleteFrom(query.Value, "kindly", "Kiddingly", "loudly"), nil
}

func prompt(name string, err error) mcp.ServerPrompt {
	return mcp.ServerPrompt{Prompt: mcp.Prompt{Name: name}, Get: func(context.Context, *mcp.Call, map[string]string) (*mcp.PromptResult, error) {
		return nil, err
	}}
}

// memory is a source of resources by URI.
type memory map[string]string

func (m memory) Templates() []mcp.ServerTemplate {
	return []mcp.ServerTemplate{{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: fmt.Sprintf("mem://%d/{name}", len(m[`mem://c`])), Name: "memory"},
	}}
}

// A completing source suggests the URIs that there are, and which values led to
// them.
type completing struct{ memory }

func (m completing) Templates() []mcp.ServerTemplate {
	templates := m.memory.Templates()
	templates[0].Complete = m.complete
	return templates
}

func (m completing) complete(_ context.Context, _ *mcp.Call, query mcp.CompletionQuery) (*mcp.Completion, error) {
	values := slices.Sorted(maps.Keys(m.memory))
	for _, name := range slices.Sorted(maps.Keys(query.Resolved)) {
		values = append(values, name+"="+query.Resolved[name])
	}
	return mcp.CompleteFrom(query.Value, values...), nil
}

func (m memory) List(_ context.Context, _ *mcp.Call, after string, limit int) ([]mcp.Resource, error) {
	var found []mcp.Resource
	for uri := range m {
		if uri > after {
			found = append(found, mcp.Resource{URI: uri, Name: m[uri]})
		}
	}
	slices.SortFunc(found, func(a, b mcp.Resource) int { return cmp.Compare(a.URI, b.URI) })
	return found[:min(limit, len(found))], nil
}

func (m memory) Read(_ context.Context, call *mcp.Call, uri string) (*mcp.ReadResult, error) {
	switch uri {
	case "mem://broken":
		return nil, errors.New("secret path")
	case "mem://nil":
		return nil, nil
	case "mem://panic":
		panic("boom")
	case "mem://ask":
		if _, ok := call.InputResponses.Text("password"); !ok {
			return nil, &mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("password", "Password?")}}
		}
	}
	text, ok := m[uri]
	if !ok && uri != "mem://ask" {
		return nil, fmt.Errorf("read %s: %w", uri, fs.ErrNotExist)
	}
	return &mcp.ReadResult{
		Contents: []mcp.ResourceContents{{URI: uri, Text: &text}},
		Cache:    mcp.Cache{TTL: time.Minute, Public: true},
	}, nil
}
