package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A tool is a tool of the catalogue with what is made once of its definition.
type tool struct {
	mcp.ServerTool
	definition    []byte // as the lists show it
	input, output *schema
	params        []param // arguments that headers repeat
}

// newTool checks and compiles a definition. Its error names the tool.
func newTool(definition mcp.ServerTool) (*tool, error) {
	t := &tool{ServerTool: definition}
	var problems [7]error
	if definition.Run == nil {
		problems[0] = errors.New("it has no function")
	}
	t.input, problems[1] = compileInput(definition.InputSchema)
	if definition.OutputSchema != nil {
		t.output, problems[2] = compileOutput(definition.OutputSchema)
	}
	problems[6] = checkPolicy(definition.Task)
	if problems[1] == nil && problems[2] == nil { // else there is text that is not JSON
		t.definition, problems[3] = jsonrpc.Marshal(definition.Tool)
		t.params, problems[4] = findParams(definition.InputSchema)
	}
	problems[5] = checkIcons(definition.Icons)
	if err := errors.Join(problems[:]...); err != nil {
		return nil, fmt.Errorf("tool %q: %w", definition.Name, err)
	}
	return t, nil
}

func (t *tool) key() string   { return t.Name }
func (t *tool) entry() []byte { return t.definition }

// addTools adds the methods of tools to both profiles.
func (d *Dispatcher) addTools() {
	c := d.catalogue
	entries := newList("tools", c.tools)
	d.contract[mcp.MethodToolsList] = entries.whole(&c.cache.fixed)
	d.contract[mcp.MethodToolsCall] = d.callTool
	if len(c.tools) > 0 {
		d.strict[mcp.MethodToolsList] = entries.paged(c.pageSize, &c.cache.fixed)
		d.strict[mcp.MethodToolsCall] = d.callTool
	}
}

// callTool answers tools/call.
//
// Spec: MCP 2026-07-28, Tools, Error Handling.
func (d *Dispatcher) callTool(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) (result, error) {
	name, ok := mcp.Text(req.Params.Name)
	if !ok {
		return result{}, mcp.InvalidParams("name must be the name of a tool")
	}
	t, ok := d.tools[name]
	if !ok {
		return unknownTool(req.Profile, name)
	}
	arguments := req.Params.Arguments
	switch {
	case mcp.IsAbsent(arguments):
		arguments = jsontext.Value("{}")
	case arguments.Kind() != '{':
		return result{}, mcp.InvalidParams("arguments must be an object")
	}
	call, err := d.open(req, notify)
	if err != nil {
		return result{}, err
	}
	switch become, refusal := d.becomes(req, t); {
	case refusal != nil:
		return result{}, refusal
	case become && t.Task.After > 0:
		return d.callFor(ctx, req, t, &mcp.ToolCall{Call: call, Arguments: arguments})
	case become:
		return d.createTask(ctx, req, t, &mcp.ToolCall{Call: call, Arguments: arguments})
	}
	out, err := d.runTool(ctx, req, t, &mcp.ToolCall{Call: call, Arguments: arguments})
	return d.answer(req, call, out, err)
}

// runTool calls a tool, whose panic is a tool error.
func (d *Dispatcher) runTool(ctx context.Context, req *mcp.Request, t *tool, call *mcp.ToolCall) (out output, err error) {
	err = d.guard(ctx, req, call.Call, func() (err error) {
		out, err = t.call(ctx, req, call)
		return err
	})
	if fault, ok := errors.AsType[*panicError](err); ok {
		return toolError(fault), nil
	}
	return out, err
}

// answer makes the result of a tool call of what its handler has returned.
func (d *Dispatcher) answer(req *mcp.Request, call *mcp.Call, out output, err error) (result, error) {
	if err != nil {
		return askOr(req, d.sealed(req, call, err))
	}
	return out.result(req.Profile)
}

// unknownTool is a protocol error, but a result for callers of the contract.
func unknownTool(profile mcp.Profile, name string) (result, error) {
	if profile == mcp.Contract {
		return failure("Tool not found").result(profile)
	}
	return result{}, unknown("tool", name)
}

// call validates the arguments, runs the tool and encodes its output. What the
// model can do something about is an output; an error is not for the model.
func (t *tool) call(ctx context.Context, req *mcp.Request, call *mcp.ToolCall) (output, error) {
	complaint, mismatch := t.check(req, call)
	switch {
	case mismatch != nil:
		return output{}, mismatch
	case complaint != "":
		return failure(complaint), nil
	}
	return t.run(ctx, call)
}

// check decodes and validates the arguments, and says what stands against them:
// to the model, or to the client.
func (t *tool) check(req *mcp.Request, call *mcp.ToolCall) (complaint string, mismatch *jsonrpc.Error) {
	values, complaint := decodeArguments(call.Arguments)
	if req.Mirrored {
		if mismatch := checkParams(t.params, req.ParamHeaders, values); mismatch != nil {
			return "", mismatch
		}
	}
	if complaint != "" {
		return complaint, nil
	}
	call.Values = values
	return t.validate(values), nil
}

// decodeArguments decodes an object, and says what stands against using it. The
// headers that repeat arguments can be compared in any case.
func decodeArguments(raw jsontext.Value) (values map[string]any, complaint string) {
	value, err := decodeValue(raw)
	if err != nil {
		complaint = "Invalid arguments: " + err.Error()
		value, _ = decodeAnyNumber(raw)
	}
	values, _ = value.(map[string]any)
	return values, complaint
}

func (t *tool) run(ctx context.Context, call *mcp.ToolCall) (output, error) {
	value, err := t.Run(ctx, call)
	if err != nil {
		return t.fail(ctx, err)
	}
	return t.encode(value)
}

// validate says what is wrong with arguments, nothing if they are as the tool
// wants them.
func (t *tool) validate(arguments map[string]any) (complaint string) {
	for _, name := range t.input.Required {
		if _, ok := arguments[name]; !ok {
			return "Missing required argument: " + name
		}
	}
	broken, err := t.input.validate(arguments)
	if err != nil {
		return "Invalid arguments: there is too much in them to check against the input schema"
	}
	if broken != nil {
		return "Invalid arguments:" + broken.describe(arguments)
	}
	return ""
}

// fail sorts out what a tool's function returned: requests for input and
// protocol errors are left to the dispatcher, all else is a tool error. If the
// context was ended with a protocol error, that says more than the function can.
func (t *tool) fail(ctx context.Context, err error) (output, error) {
	if ended := mcp.EndedBy(ctx); ended != nil {
		return output{}, ended
	}
	if ask := asked(err); ask != nil {
		return output{}, ask
	}
	if protocol, ok := errors.AsType[*jsonrpc.Error](err); ok && protocol != nil {
		return output{}, protocol
	}
	return toolError(err), nil
}
