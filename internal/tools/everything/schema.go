package everything

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

const greetInput = `{
	"type": "object",
	"properties": {"name": {"type": "string", "description": "Whom to greet."}},
	"required": ["name"]
}`

type greetArguments struct {
	Name string `json:"name"`
}

// contactInput uses what JSON Schema 2020-12 has beyond types: definitions with
// an anchor, composition and conditions.
const contactInput = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {
			"$anchor": "addressDef",
			"type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
		}
	},
	"properties": {
		"name": {"type": "string"},
		"phone": {"type": "string"},
		"email": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

const sumInput = `{
	"type": "object",
	"properties": {"a": {"type": "number"}, "b": {"type": "number"}},
	"required": ["a", "b"],
	"additionalProperties": false
}`

type sumArguments struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

const sumOutput = `{"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}`

type sum struct {
	Sum float64 `json:"sum"`
}

// schemaTools have arguments and structured results.
func schemaTools() []mcp.ServerTool {
	return []mcp.ServerTool{
		tools.New(mcp.Tool{
			Name: "greet", Description: "Greets somebody.", InputSchema: jsontext.Value(greetInput), Annotations: tools.ReadOnly(),
		}, func(_ context.Context, _ *mcp.ToolCall, in greetArguments) (string, error) {
			return fmt.Sprintf("Hello, %s!", in.Name), nil
		}),
		tools.New(mcp.Tool{
			Name: "json_schema_2020_12_tool", Description: "Takes a contact, described with JSON Schema 2020-12.",
			InputSchema: jsontext.Value(contactInput), Annotations: tools.ReadOnly(),
		}, func(_ context.Context, call *mcp.ToolCall, _ map[string]any) (string, error) {
			return "These arguments conform: " + string(call.Arguments), nil
		}),
		tools.New(mcp.Tool{
			Name: "test_structured_content", Description: "Returns a sum as structured content.",
			InputSchema: jsontext.Value(sumInput), OutputSchema: jsontext.Value(sumOutput), Annotations: tools.ReadOnly(),
		}, func(_ context.Context, _ *mcp.ToolCall, in sumArguments) (sum, error) {
			total := in.A + in.B
			if math.IsInf(total, 0) {
				return sum{}, errors.New("the sum is too large")
			}
			return sum{total}, nil
		}),
	}
}
