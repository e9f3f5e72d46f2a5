package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A completer is a prompt or resource template as completion/complete sees it.
type completer struct {
	arguments []string // names of what can be completed
	complete  mcp.CompleteFunc
}

// completers are those of a catalogue, by what a reference names them.
type completers struct {
	prompts   map[string]completer // by name
	templates map[string]completer // by URI template
}

// addCompletion adds completion/complete, if there is anything that completes.
func (d *Dispatcher) addCompletion(c *catalogue) {
	d.completers = completers{prompts: map[string]completer{}, templates: map[string]completer{}}
	some := false
	for _, p := range c.prompts {
		d.completers.prompts[p.Name] = completer{arguments: argumentNames(p.Arguments), complete: p.Complete}
		some = some || p.Complete != nil
	}
	for _, t := range c.templates {
		d.completers.templates[t.URITemplate] = completer{arguments: variables(t.URITemplate), complete: t.Complete}
		some = some || t.Complete != nil
	}
	if some {
		d.strict[mcp.MethodComplete] = d.complete
	}
}

func argumentNames(arguments []mcp.PromptArgument) []string {
	names := make([]string, len(arguments))
	for i, a := range arguments {
		names[i] = a.Name
	}
	return names
}

// variables returns the names in the expressions of an RFC 6570 template.
func variables(template string) (names []string) {
	for {
		_, rest, ok := strings.Cut(template, "{")
		expression, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return names
		}
		for name := range strings.SplitSeq(strings.TrimLeft(expression, "+#./;?&"), ",") {
			name, _, _ = strings.Cut(name, ":")
			names = append(names, strings.TrimSuffix(name, "*"))
		}
		template = after
	}
}

// complete answers completion/complete. What can be wrong with the request is a
// protocol error, as it is an editor and no model that asks.
//
// Spec: MCP 2026-07-28, Completion, Error Handling.
func (d *Dispatcher) complete(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) (result, error) {
	target, refusal := d.completers.find(req.Params.Ref)
	if refusal != nil {
		return result{}, refusal
	}
	query, refusal := parseQuery(req)
	switch {
	case refusal != nil:
		return result{}, refusal
	case !slices.Contains(target.arguments, query.Argument):
		return result{}, mcp.InvalidParams("ref has no argument %s", shorten(query.Argument))
	}
	completion := &mcp.Completion{Values: []string{}}
	if target.complete != nil {
		err := d.invoke(ctx, req, notify, func(call *mcp.Call) (err error) {
			completion, err = target.complete(ctx, call, query)
			return err
		})
		switch {
		case err != nil:
			return result{}, fmt.Errorf("complete: %w", err)
		case completion == nil:
			return result{}, fmt.Errorf("completion of %q returned neither values nor an error", query.Argument)
		}
	}
	return encode(completion.Result(), nil)
}

// find returns what a reference is to.
func (c completers) find(raw jsontext.Value) (completer, *jsonrpc.Error) {
	var ref struct {
		Type jsontext.Value `json:"type"`
		Name jsontext.Value `json:"name"`
		URI  jsontext.Value `json:"uri"`
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &ref) != nil {
		return completer{}, mcp.InvalidParams("ref must be an object")
	}
	kind, _ := mcp.Text(ref.Type)
	switch kind {
	case "ref/prompt":
		name, ok := mcp.Text(ref.Name)
		if !ok {
			return completer{}, mcp.InvalidParams("ref.name must be the name of a prompt")
		}
		return lookUp(c.prompts, "prompt", name)
	case "ref/resource":
		uri, ok := mcp.Text(ref.URI)
		if !ok {
			return completer{}, mcp.InvalidParams("ref.uri must be the URI template of a resource template")
		}
		return lookUp(c.templates, "resource template", uri)
	}
	return completer{}, mcp.InvalidParams("ref.type must be ref/prompt or ref/resource")
}

func lookUp(in map[string]completer, kind, name string) (completer, *jsonrpc.Error) {
	found, ok := in[name]
	if !ok {
		return completer{}, unknown(kind, name)
	}
	return found, nil
}

// parseQuery reads the members argument and context.
func parseQuery(req *mcp.Request) (query mcp.CompletionQuery, refusal *jsonrpc.Error) {
	var argument struct {
		Name  jsontext.Value `json:"name"`
		Value jsontext.Value `json:"value"`
	}
	if req.Params.Argument.Kind() != '{' || json.Unmarshal(req.Params.Argument, &argument) != nil {
		return query, mcp.InvalidParams("argument must be an object")
	}
	var hasName, hasValue bool
	query.Argument, hasName = mcp.Text(argument.Name)
	query.Value, hasValue = mcp.Text(argument.Value)
	if !hasName || !hasValue {
		return query, mcp.InvalidParams("argument must have the strings name and value")
	}
	if mcp.IsAbsent(req.Params.Context) {
		return query, nil
	}
	var known struct {
		Arguments jsontext.Value `json:"arguments"`
	}
	if req.Params.Context.Kind() != '{' || json.Unmarshal(req.Params.Context, &known) != nil {
		return query, mcp.InvalidParams("context must be an object")
	}
	if !mcp.IsAbsent(known.Arguments) && json.Unmarshal(known.Arguments, &query.Resolved) != nil {
		return query, mcp.InvalidParams("context.arguments must be an object of strings")
	}
	return query, nil
}
