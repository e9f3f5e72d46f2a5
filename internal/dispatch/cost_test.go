package dispatch

import (
	"context"
	"fmt"
	"log/slog"
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

func costOf(t *testing.T, schema string) cost {
	t.Helper()
	compiled, err := compileInput(jsontext.Value(schema))
	require.NoError(t, err)
	return compiled.cost
}

func TestMeasure(t *testing.T) {
	for name, test := range map[string]struct {
		members string
		want    cost // the first levels
		levels  int
	}{
		"nothing":            {`"title":"x"`, cost{1}, 1},
		"properties":         {`"properties":{"a":{},"b":{"properties":{"c":{}}}}`, cost{1, 1, 1}, 3},
		"in place":           {`"allOf":[{},{"not":{}}],"if":{},"then":{},"else":{}`, cost{7}, 1},
		"one or the other":   {`"properties":{"a":{}},"additionalProperties":{"type":"string"}`, cost{1, 1}, 2},
		"always":             {`"properties":{"a":{}},"patternProperties":{"a":{}}`, cost{1, 2}, 2},
		"arrays":             {`"properties":{"a":{"prefixItems":[{},{}],"items":{},"contains":{}}}`, cost{1, 1, 2}, 3},
		"a list":             {`"properties":{"next":{"$ref":"#"}}`, cost{1, 2, 2, 2}, costLevels},
		"a tree":             {`"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}`, cost{1, 2, 2, 2}, costLevels},
		"a map of itself":    {`"properties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#"}`, cost{1, 2, 2, 2}, costLevels},
		"a dynamic tree":     {`"$dynamicAnchor":"n","properties":{"child":{"$dynamicRef":"#n"}}`, cost{1, 2, 2, 2}, costLevels},
		"behind dynamic ref": {`"$dynamicRef":"#d","$defs":{"d":{"$dynamicAnchor":"d","allOf":[{},{}],"properties":{"a":{}}}}`, cost{4, 1}, 2},
		"two alternatives":   {`"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]`, cost{3, 8, 16, 32}, 23},
		"itself, in place":   {`"$defs":{"d":{"$ref":"#/$defs/d"}},"properties":{"a":{"$ref":"#/$defs/d"}}`, cost{1, 2}, 2},
		"through in place":   {`"allOf":[{"$ref":"#/$defs/d"}],"$defs":{"d":{"properties":{"a":{"$ref":"#"}}}}`, cost{3, 4, 4}, costLevels},
		"draft-07 positions": {`"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{},{}],"additionalItems":{}}}`, cost{1, 1, 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			got := costOf(t, `{"type":"object",`+test.members+`}`)
			require.Len(t, got, test.levels)
			assert.Equal(t, test.want, got[:len(test.want)])
		})
	}
}

// What would take years is a tool error at once; what is only large is checked.
func TestCostlyArguments(t *testing.T) {
	call := costlyTool(t, mcp.ServerTool{
		Tool: mcp.Tool{InputSchema: jsontext.Value(doubling)},
		Run:  func(context.Context, *mcp.ToolCall) (any, error) { return "it ran", nil },
	})
	assert.Contains(t, call(nested(5)), "it ran")
	assert.Contains(t, call(nested(100)), "Invalid arguments: there is too much in them to check against the input schema")
	assert.Contains(t, call(`{"list":[`+strings.Repeat("1,", 100_000)+`1]}`), "it ran")
}

// A tool may return what its client sent, so that the same holds for outputs.
func TestCostlyOutput(t *testing.T) {
	call := costlyTool(t, mcp.ServerTool{
		Tool: mcp.Tool{InputSchema: jsontext.Value(`{"type":"object"}`), OutputSchema: jsontext.Value(doubling)},
		Run:  func(_ context.Context, call *mcp.ToolCall) (any, error) { return call.Values, nil },
	})
	assert.Contains(t, call(nested(5)), `"content"`)
	assert.Contains(t, call(nested(22)), `"code":-32603`, "three seconds of work, and twice that on each further level")
}

// doubling is a schema that doubles the work on every level of a value.
const doubling = `{"type":"object",
	"anyOf":[{"properties":{"a":{"$ref":"#"},"b":{"const":1}}},{"properties":{"a":{"$ref":"#"},"b":{"const":2}}}],
	"properties":{"list":{"items":{"type":"integer"}}}}`

func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth) + `{}` + strings.Repeat(`}`, depth)
}

// costlyTool serves definition, and returns a function that calls it.
func costlyTool(t *testing.T, definition mcp.ServerTool) (call func(arguments string) string) {
	t.Helper()
	definition.Name = "t"
	d, err := New(Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{definition}}}}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return func(arguments string) string {
		req, refusal := mcp.ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":` + arguments + `}}`))
		require.Nil(t, refusal)
		req.Profile = mcp.Contract
		return string(d.Handle(t.Context(), req, nil).Body)
	}
}

func TestCostIsCountedByLevel(t *testing.T) {
	c := cost{1, 1, maxCost}
	fits := func(arguments string) bool { return c.affordable(object(t, jsontext.Value(arguments)), maxCost) }
	assert.True(t, fits(`{"a":1,"b":[],"c":{}}`))
	assert.True(t, (cost{1, 1, 1}).affordable(object(t, jsontext.Value(`{"a":[[[[]]]]}`)), maxCost+1), "what is deeper costs nothing")
	assert.False(t, fits(`{"a":[1]}`))
	assert.True(t, c.affordable(map[string]any{"a": []any{1}}, 1), "few bytes cannot cost much")
}

// Registration stays quick for schemas as large as they may be.
func BenchmarkMeasure(b *testing.B) {
	properties := make([]string, maxSubschemas/2)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"p%d":{"anyOf":[{"$ref":"#"}]}`, i)
	}
	compiled, err := compileInput(jsontext.Value(`{"type":"object","properties":{` + strings.Join(properties[1:], ",") + `}}`))
	require.NoError(b, err)
	for b.Loop() {
		_, _ = measure(compiled.Schema)
	}
}
