package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// fanOut is a schema of n definitions, each of which refers twice to the next.
func fanOut(n int) string {
	var defs strings.Builder
	for i := range n {
		fmt.Fprintf(&defs, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/d0","$defs":{%s"d%d":{}}}`, defs.String(), n)
}

// repeated is n times text, with commas between.
func repeated(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

// numbered is text for each number below n in the place of its verb, with commas
// between.
func numbered(text string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text+",", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// chain are definitions d0, d1 and so on, each of which refers to the next, and
// the last of n of which is last.
func chain(n int, last string) string {
	var defs strings.Builder
	for i := range n - 1 {
		fmt.Fprintf(&defs, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	return fmt.Sprintf(`"$defs":{%s"d%d":%s}`, defs.String(), n-1, last)
}

// nested is an object within an object and so on.
func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth) + `{}` + strings.Repeat(`}`, depth)
}

// trees are all arrays of arrays alone that have so many arrays in them.
func trees(arrays int) (all []string) {
	if arrays == 0 {
		return []string{"[]"}
	}
	for first := range arrays {
		for _, a := range trees(first) {
			for _, b := range trees(arrays - 1 - first) {
				all = append(all, strings.Replace("["+a+","+b[1:], ",]", "]", 1))
			}
		}
	}
	return all
}

// Whatever the schema and the arguments, a validation ends soon and takes little
// memory, as tried with a twentieth of the bound. Most of these take as long as
// the arguments are, times the schema, if that is not prevented.
func TestValidationIsBounded(t *testing.T) {
	const tooMuch = "Invalid arguments: there is too much in them to check against the input schema"
	property := func(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }
	array := func(items string) string { return `{"a":[` + items + `]}` }
	object := func(members string) string { return `{"a":{` + members + `}}` }
	for name, test := range map[string]struct{ schema, arguments, want string }{
		"enum of numbers":   {property(`{"items":{"enum":[` + numbered("1%d", 100) + `,0]}}`), array(repeated("0", 30_000)), ""},
		"enum of long ones": {property(`{"items":{"enum":[` + repeated("1e500", 2000) + `]}}`), array(repeated("1e400", 10_000)), "expected one of"},
		"const":             {property(`{"items":{"const":{"x":1e500}}}`), array(repeated(`{"x":10e499}`, 10_000)), ""},
		"unique on all levels": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/u"}},"$defs":{"u":{"uniqueItems":true,"items":{"$ref":"#/$defs/u"}}}}`,
			array(strings.Repeat("[", 100) + numbered("%d", 10_000) + strings.Repeat("]", 100)), tooMuch,
		},
		"violations":              {property(`{"items":{"type":"number"}}`), array(repeated(`""`, 20_000)), "\n- and 19992 more"},
		"violations by the dozen": {property(`{"items":{"anyOf":[` + repeated(`{"type":"number"}`, 20) + `]}}`), array(repeated(`""`, 20_000)), "\n- and at least "},
		"too many alternatives": {
			`{"type":"object","oneOf":[{"properties":{"a":{"$ref":"#"}},"required":["x"]},{"properties":{"a":{"$ref":"#"}},"required":["y"]}]}`,
			nested(120), "Invalid arguments: they break the schema in more ways than can be told",
		},
		"sorted over and over": {property(`{"anyOf":[` + repeated(`{"additionalProperties":false}`, 100) + `]}`), object(numbered(`"%d":0`, 4000)), "more ways than can be told"},
		"required":             {property(`{"items":{"required":[` + numbered(`"k%d"`, 400) + `]}}`), array(repeated(`{}`, 20_000)), `$.a[0]: missing "k0"`},
		"long program":         {property(`{"pattern":"(a{0,300}b?){3}x"}`), `{"a":"` + strings.Repeat("a", 25_000) + `"}`, tooMuch},
		"patterns for names":   {property(`{"patternProperties":{` + numbered(`"(a{0,300}b?){2}%d":true`, 20) + `}}`), object(numbered(`"%d":0`, 5000)), tooMuch},
		"regex to compile": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"format":"regex"}}}`,
			`{"a":"` + strings.Repeat("a{1000}", 1300) + `"}`, "",
		},
		"unevaluated": {
			`{"type":"object","unevaluatedProperties":false,"$ref":"#/$defs/d0",` + chain(200, `{"properties":{`+numbered(`"%d":true`, 500)+`}}`) + `}`,
			`{` + numbered(`"%d":0`, 500) + `}`, tooMuch,
		},
		"dynamic tree": {
			`{"type":"object","$dynamicAnchor":"n","allOf":[{"properties":{"a":{"$dynamicRef":"#n"}}},{"properties":{"a":{"$dynamicRef":"#n"}}}]}`,
			nested(120), tooMuch,
		},
		"itself, dynamically": {`{"type":"object","$dynamicAnchor":"n","allOf":[{"$dynamicRef":"#n"}]}`, `{}`, tooMuch},
		"long fractions":      {property(`{"items":{"multipleOf":7e-500}}`), array(repeated("14e-500", 3000)), ""},
		"long chain": {
			`{"type":"object","properties":{"a":{"items":{"$ref":"#/$defs/d0"}}},` + chain(2000, `true`) + `}`, array(repeated("0", 400)), tooMuch,
		},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileInput(jsontext.Value(test.schema))
			require.NoError(t, err)
			compiled.work = maxWork / 20
			value, err := decodeValue(jsontext.Value(test.arguments))
			require.NoError(t, err)
			arguments, _ := value.(map[string]any)
			allocated := totalAlloc()
			got := (&tool{input: compiled}).validate(arguments)
			assert.Less(t, totalAlloc()-allocated, uint64(24<<20), "bytes")
			if test.want == "" {
				assert.Empty(t, got)
			}
			assert.Contains(t, got, test.want)
			assert.Less(t, len(got), 8192)
		})
	}
}

// Items that nothing tells apart but a look at all of them are no reason to
// compare each with each.
func TestUniqueItemsTakesNoSquare(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"uniqueItems":true}}}`
	items := trees(10)
	compiled, err := compileInput(jsontext.Value(schema))
	require.NoError(t, err)
	compiled.work = 16 * len(items)
	assert.True(t, conforms(t, compiled, object(t, jsontext.Value(`{"a":[`+strings.Join(items, ",")+`]}`))))
	assert.Contains(t, complaint(t, schema, `{"a":["1",1,[1],{"1":1},"[1]",[[1]],[1,1],["1"],1.0]}`), "those at 1 and 8 are equal")
}

func totalAlloc() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// What would take years is a tool error; what is only large is checked.
func TestCostlyArguments(t *testing.T) {
	call := costlyTool(t, mcp.ServerTool{
		Tool: mcp.Tool{InputSchema: jsontext.Value(doubling)},
		Run:  func(context.Context, *mcp.ToolCall) (any, error) { return "it ran", nil },
	})
	assert.Contains(t, call(nested(100)), "it ran")
	assert.Contains(t, call(wrongWithin(5)), "Invalid arguments:\\n- $: expected one of the alternatives to match")
	assert.Contains(t, call(wrongWithin(100)), "Invalid arguments: there is too much in them to check against the input schema")
	assert.Contains(t, call(`{"list":[`+repeated("1", 100_000)+`]}`), "it ran")
}

// A tool may return what its client sent, so that the same holds for outputs.
func TestCostlyOutput(t *testing.T) {
	call := costlyTool(t, mcp.ServerTool{
		Tool: mcp.Tool{InputSchema: jsontext.Value(`{"type":"object"}`), OutputSchema: jsontext.Value(doubling)},
		Run:  func(_ context.Context, call *mcp.ToolCall) (any, error) { return call.Values, nil },
	})
	assert.Contains(t, call(nested(100)), `"content"`)
	assert.Contains(t, call(wrongWithin(100)), `"code":-32603`)
}

// doubling is a schema that doubles the work on every level of a value that does
// not conform.
const doubling = `{"type":"object",
	"anyOf":[{"properties":{"a":{"$ref":"#"},"b":{"const":1}}},{"properties":{"a":{"$ref":"#"},"b":{"const":2}}}],
	"properties":{"list":{"items":{"type":"integer"}}}}`

func wrongWithin(depth int) string { return strings.Replace(nested(depth), "{}", `{"b":3}`, 1) }

// costlyTool serves definition, and returns a function that calls it.
func costlyTool(t *testing.T, definition mcp.ServerTool) (call func(arguments string) string) {
	t.Helper()
	definition.Name = "t"
	d, err := New(Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{definition}}}}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for _, s := range []*schema{d.tools["t"].input, d.tools["t"].output} {
		if s != nil {
			s.work = maxWork / 20
		}
	}
	return func(arguments string) string {
		req, refusal := mcp.ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":` + arguments + `}}`))
		require.Nil(t, refusal)
		req.Profile = mcp.Contract
		return string(d.Handle(t.Context(), req, nil).Body)
	}
}
