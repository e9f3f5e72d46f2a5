package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// paramKeyword marks an argument that clients repeat in an HTTP header, so that
// what lies on the way can act on it without reading the body.
//
// Spec: MCP 2026-07-28, Streamable HTTP, Custom Headers from Tool Parameters.
const paramKeyword = "x-mcp-header"

// A param is an argument that a header repeats.
type param struct {
	path   []string // of property names, from the arguments down
	header string   // as the schema spells it
	key    string   // in mcp.ParamHeaders
}

// findParams finds the marked properties of an input schema, in a stable order.
// A client has to leave out a tool that marks anything else, or in another way;
// the error says what.
//
// Spec: Streamable HTTP, Schema Extension.
func findParams(inputSchema jsontext.Value) ([]param, error) {
	document, err := decodeSchema(inputSchema)
	if err != nil {
		return nil, err
	}
	f := paramFinder{paths: map[string]string{}}
	f.schema(document, place{text: "$", static: true})
	if len(f.found) > mcp.MaxParamHeaders {
		f.refuse(place{text: "$"}, "it is on %d properties, at most %d are supported", len(f.found), mcp.MaxParamHeaders)
	}
	return f.found, errors.Join(f.problems...)
}

// A place is where in a schema the finder is.
type place struct {
	text     string   // for messages
	path     []string // of the property, if it is static
	static   bool     // reached through the keyword properties alone
	property bool     // it is the schema of a property
}

func (p place) child(name string, static bool) place {
	return place{
		text:     p.text + "." + shorten(name),
		path:     append(slices.Clone(p.path), name),
		static:   p.static && static,
		property: static,
	}
}

type paramFinder struct {
	found    []param
	paths    map[string]string // where a header's key is used
	problems []error
}

func (f *paramFinder) refuse(at place, format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf("%s at %s: %s", paramKeyword, at.text, fmt.Sprintf(format, args...)))
}

// schema looks at a schema and all that it contains.
func (f *paramFinder) schema(schema map[string]any, at place) {
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		value := schema[keyword]
		switch keyword {
		case paramKeyword:
			f.mark(schema, value, at)
		case "properties":
			f.schemas(value, at, true)
		case "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies":
			f.schemas(value, at.child(keyword, false), false)
		case "const", "enum", "default", "examples": // data
		default:
			f.any(value, at.child(keyword, false))
		}
	}
}

// schemas looks at schemas by name.
func (f *paramFinder) schemas(value any, at place, static bool) {
	named, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		f.any(named[name], at.child(name, static))
	}
}

// any looks at what may be a schema or a list of schemas.
func (f *paramFinder) any(value any, at place) {
	switch v := value.(type) {
	case map[string]any:
		f.schema(v, at)
	case []any:
		for i, element := range v {
			f.any(element, at.child(fmt.Sprint(i), false))
		}
	}
}

// mark takes the mark with value on schema.
func (f *paramFinder) mark(schema map[string]any, value any, at place) {
	name, isString := value.(string)
	key := strings.ToLower(name)
	other, taken := f.paths[key]
	switch {
	case !at.property || !at.static:
		f.refuse(at, "it must be on a property that is reached from the root through properties alone")
	case !isString || !isToken(name):
		f.refuse(at, "%s is not a name of a header field", quote(value))
	case taken:
		f.refuse(at, "the name %q is taken by %s; case does not count", name, other)
	case !isPrimitive(schema["type"]):
		f.refuse(at, "the type must be string, integer or boolean")
	default:
		f.paths[key] = at.text
		f.found = append(f.found, param{path: at.path, header: mcp.HeaderParam + name, key: key})
	}
}

// isToken tells whether s may be part of the name of a header field.
//
// Spec: RFC 9110, Tokens.
func isToken(s string) bool {
	const tchar = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && len(s) <= maxShown && strings.Trim(s, tchar) == ""
}

// isPrimitive tells whether values of the type have a form in a header. Null is
// allowed beside others, as it has none and counts as no value.
func isPrimitive(declared any) bool {
	types, ok := declared.([]any)
	if !ok {
		types = []any{declared}
	}
	types = slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" })
	return len(types) > 0 && !slices.ContainsFunc(types, func(t any) bool {
		return t != "string" && t != "integer" && t != "boolean"
	})
}

// checkParams compares the headers with the arguments that they repeat. Headers
// that no property is marked for mean nothing here.
//
// Spec: Streamable HTTP, Server Behavior for Custom Headers.
func checkParams(params []param, headers mcp.ParamHeaders, arguments map[string]any) *jsonrpc.Error {
	for _, p := range params {
		argument := p.argument(arguments)
		values := headers[p.key]
		if argument == nil {
			if len(values) > 0 {
				return mcp.HeaderMismatch(p.header, "is there, but not the argument that it repeats")
			}
			continue
		}
		value, err := mcp.HeaderValue(p.header, values)
		if err != nil {
			return err
		}
		if fault := compareParam(argument, value); fault != "" {
			return mcp.HeaderMismatch(p.header, fault)
		}
	}
	return nil
}

// argument returns the argument that p is about, nil if it is null or absent.
func (p param) argument(arguments map[string]any) any {
	var value any = arguments
	for _, name := range p.path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// compareParam says how a header's value differs from an argument. The schema
// has not been applied yet, so that the argument may be of any type.
func compareParam(argument any, header string) (fault string) {
	const differs = "differs from the argument that it repeats"
	switch v := argument.(type) {
	case string:
		if header == v {
			return ""
		}
	case bool:
		if header == fmt.Sprint(v) {
			return ""
		}
	case json.Number:
		return compareNumber(string(v), header, differs)
	}
	return differs
}

// compareNumber compares by value, so that 42.0 is 42. Both are exact: a number
// that not all who read the header can hold is refused.
func compareNumber(argument, header, differs string) (fault string) {
	if !isBounded(argument) {
		return "is a number out of range"
	}
	if !isBounded(header) || !jsontext.Value(header).IsValid() {
		return differs
	}
	given, ok := new(big.Rat).SetString(header)
	if !ok {
		return differs
	}
	want, _ := new(big.Rat).SetString(argument)
	switch limit := big.NewRat(1<<53-1, 1); {
	case given.Cmp(want) != 0:
		return differs
	case given.Cmp(limit) > 0, given.Cmp(new(big.Rat).Neg(limit)) < 0:
		return "is an integer beyond 2^53-1, which not every reader of the header can hold"
	}
	return ""
}
