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

// A completable is a prompt or resource template as completion/complete sees it.
type completable interface {
	takes(argument string) bool
	suggests() mcp.CompleteFunc // nil when it suggests nothing
}

// addCompletion adds completion/complete, if there is anything that completes.
func (d *Dispatcher) addCompletion() {
	if d.catalogue.completes() {
		d.strict[mcp.MethodComplete] = d.complete
	}
}

func (c *catalogue) completes() bool {
	return slices.ContainsFunc(c.prompts, func(p *prompt) bool { return p.Complete != nil }) ||
		slices.ContainsFunc(c.templates, func(t *template) bool { return t.Complete != nil })
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
	target, refusal := d.completable(req.Params.Ref)
	if refusal != nil {
		return result{}, refusal
	}
	query, refusal := parseQuery(req)
	switch {
	case refusal != nil:
		return result{}, refusal
	case !target.takes(query.Argument):
		return result{}, mcp.InvalidParams("ref has no argument %s", shorten(query.Argument))
	}
	completion := &mcp.Completion{Values: []string{}}
	if suggest := target.suggests(); suggest != nil {
		err := d.invoke(ctx, req, notify, func(call *mcp.Call) (err error) {
			completion, err = suggest(ctx, call, query)
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

// completable returns what a reference is to.
func (d *Dispatcher) completable(raw jsontext.Value) (completable, *jsonrpc.Error) {
	var ref struct {
		Type jsontext.Value `json:"type"`
		Name jsontext.Value `json:"name"`
		URI  jsontext.Value `json:"uri"`
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &ref) != nil {
		return nil, mcp.InvalidParams("ref must be an object")
	}
	kind, _ := mcp.Text(ref.Type)
	switch kind {
	case "ref/prompt":
		name, ok := mcp.Text(ref.Name)
		if !ok {
			return nil, mcp.InvalidParams("ref.name must be the name of a prompt")
		}
		return lookUp(d.prompts, "prompt", name)
	case "ref/resource":
		uri, ok := mcp.Text(ref.URI)
		if !ok {
			return nil, mcp.InvalidParams("ref.uri must be the URI template of a resource template")
		}
		return lookUp(d.templates, "resource template", uri)
	}
	return nil, mcp.InvalidParams("ref.type must be ref/prompt or ref/resource")
}

func lookUp[T completable](in map[string]T, kind, name string) (completable, *jsonrpc.Error) {
	found, ok := in[name]
	if !ok {
		return nil, unknown(kind, name)
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
