package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on a tool's schema: what validation costs grows with it.
//
// Spec: MCP 2026-07-28, Base Protocol, JSON Schema Usage.
const (
	maxSchemaLength = 256 << 10 // bytes
	maxSchemaDepth  = 64        // arrays and objects in each other
	maxSubschemas   = 4096      // objects, as most of them are schemas
)

// A schema is a compiled schema with all that belong to it.
type schema struct {
	*jsonschema.Schema
	nodes map[*jsonschema.Schema]*node
	work  int // maxWork
}

// schemaURL is the base of the references in a schema. It leads nowhere, and has
// a path, so that a relative reference cannot end at the schema itself.
const schemaURL = "schema:///"

// compileInput compiles the schema of a tool's arguments, which are an object.
func compileInput(raw jsontext.Value) (*schema, error) {
	if len(raw) == 0 {
		return nil, errors.New("it has no input schema")
	}
	compiled, err := compile(raw)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if compiled.Types == nil || !slices.Equal(compiled.Types.ToStrings(), []string{"object"}) {
		return nil, errors.New(`input schema: its type must be "object"`)
	}
	return compiled, nil
}

func compileOutput(raw jsontext.Value) (*schema, error) {
	compiled, err := compile(raw)
	if err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	return compiled, nil
}

// compile compiles a schema of JSON Schema 2020-12, or of draft-07 if it says
// so. Nothing is ever loaded: a reference has to resolve within the schema, or
// to a meta-schema of JSON Schema itself, which are built in.
func compile(raw jsontext.Value) (*schema, error) {
	document, err := decodeSchema(raw)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refuseToLoad{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return nil, fmt.Errorf("it is not valid:%s", violationsOf(invalid.Err).describe(document))
	}
	if err != nil {
		return nil, err
	}
	graph, err := newSchemaGraph(compiler, compiled, document)
	if err != nil {
		return nil, err
	}
	return &schema{Schema: compiled, nodes: graph.nodes, work: maxWork}, nil
}

func decodeSchema(raw jsontext.Value) (map[string]any, error) {
	switch depth, objects := extent(raw); {
	case len(raw) > maxSchemaLength:
		return nil, fmt.Errorf("it is longer than %d bytes", maxSchemaLength)
	case depth > maxSchemaDepth:
		return nil, fmt.Errorf("it nests more than %d levels deep", maxSchemaDepth)
	case objects > maxSubschemas:
		return nil, fmt.Errorf("it has more than %d subschemas", maxSubschemas)
	}
	value, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	document, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it must be an object")
	}
	return document, supportedDialect(document)
}

// extent returns how deeply arrays and objects nest in raw, and the number of
// objects.
func extent(raw jsontext.Value) (deepest, objects int) {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
			if c == '{' {
				objects++
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest, objects
}

// supportedDialect refuses the drafts that the validator knows but we do not
// test with, as well as those that nobody knows.
func supportedDialect(document map[string]any) error {
	declared, ok := document["$schema"]
	if !ok {
		return nil
	}
	dialect, _ := declared.(string)
	switch strings.TrimSuffix(dialect, "#") {
	case "https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft-07/schema":
		return nil
	}
	return fmt.Errorf("$schema %q is not a supported dialect: use JSON Schema 2020-12 or draft-07", shorten(fmt.Sprint(declared)))
}

// refuseToLoad is the only loader there is.
//
// Spec: MCP 2026-07-28, Base Protocol, $ref Resolution.
type refuseToLoad struct{}

func (refuseToLoad) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}
