package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A prompt is a prompt of the catalogue.
type prompt struct {
	mcp.ServerPrompt
	definition []byte // as the list shows it
}

// newPrompt checks and encodes a definition. Its error names the prompt.
func newPrompt(definition mcp.ServerPrompt) (*prompt, error) {
	if definition.Get == nil {
		return nil, fmt.Errorf("prompt %q: it has no function", definition.Name)
	}
	encoded, err := jsonrpc.Marshal(definition.Prompt)
	if err = errors.Join(err, checkIcons(definition.Icons)); err != nil {
		return nil, fmt.Errorf("prompt %q: %w", definition.Name, err)
	}
	return &prompt{ServerPrompt: definition, definition: encoded}, nil
}

func (p *prompt) key() string   { return p.Name }
func (p *prompt) entry() []byte { return p.definition }

func (p *prompt) takes(argument string) bool {
	return slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == argument })
}

func (p *prompt) suggests() mcp.CompleteFunc { return p.Complete }

func (d *Dispatcher) addPrompts() {
	c := d.catalogue
	if len(c.prompts) > 0 {
		d.strict[mcp.MethodPromptsList] = newList("prompts", c.prompts).paged(c.pageSize, &c.cache.fixed)
		d.strict[mcp.MethodPromptsGet] = d.getPrompt
	}
}

// getPrompt answers prompts/get. All that can be wrong with the request is a
// protocol error here, as it is a user and no model that fills prompts in.
//
// Spec: MCP 2026-07-28, Prompts, Error Handling.
func (d *Dispatcher) getPrompt(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) (result, error) {
	name, ok := mcp.Text(req.Params.Name)
	if !ok {
		return result{}, mcp.InvalidParams("name must be the name of a prompt")
	}
	p, ok := d.prompts[name]
	if !ok {
		return result{}, unknown("prompt", name)
	}
	arguments, refusal := p.arguments(req.Params.Arguments)
	if refusal != nil {
		return result{}, refusal
	}
	var filled *mcp.PromptResult
	err := d.invoke(ctx, req, notify, func(call *mcp.Call) (err error) {
		filled, err = p.Get(ctx, call, arguments)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return result{}, mcp.InvalidParams("an argument of the prompt %s names something that does not exist", name)
	case err != nil:
		return askOr(req, err)
	case filled == nil:
		return result{}, fmt.Errorf("prompt %q returned neither messages nor an error", name)
	}
	return encode(filled, nil)
}

// arguments decodes raw, an object of strings, with all that the prompt
// requires. Arguments that the prompt does not define are passed on.
func (p *prompt) arguments(raw jsontext.Value) (map[string]string, *jsonrpc.Error) {
	arguments := map[string]string{}
	if !mcp.IsAbsent(raw) {
		var values map[string]jsontext.Value
		if err := json.Unmarshal(raw, &values); err != nil {
			return nil, mcp.InvalidParams("arguments must be an object")
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text, ok := mcp.Text(values[name])
			if !ok {
				return nil, mcp.InvalidParams("the prompt argument %s must be a string", shorten(name))
			}
			arguments[name] = text
		}
	}
	for _, argument := range p.Arguments {
		if _, ok := arguments[argument.Name]; argument.Required && !ok {
			return nil, mcp.InvalidParams("missing required prompt argument: %s", argument.Name)
		}
	}
	return arguments, nil
}
