package basics_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools/basics"
)

func tool(t testing.TB, name string) mcp.ServerTool {
	t.Helper()
	all := basics.Toolset().Tools
	i := slices.IndexFunc(all, func(tool mcp.ServerTool) bool { return tool.Name == name })
	require.GreaterOrEqual(t, i, 0, "no tool %s", name)
	return all[i]
}

func valid(t testing.TB, schema jsontext.Value, arguments string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("schema.json", doc))
	compiled, err := compiler.Compile("schema.json")
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	require.NoError(t, err)
	return compiled.Validate(value)
}

// output runs a tool with valid arguments, and returns its text.
func output(t testing.TB, name, arguments string) (string, error) {
	t.Helper()
	tool := tool(t, name)
	require.NoError(t, valid(t, tool.InputSchema, arguments))
	out, err := tool.Run(t.Context(), call(arguments, nil))
	if text, ok := out.(string); ok || err != nil {
		return text, err
	}
	text, err := jsonrpc.Marshal(out)
	require.NoError(t, err)
	return string(text), nil
}

func call(arguments string, responses mcp.InputResponses) *mcp.ToolCall {
	return &mcp.ToolCall{Call: &mcp.Call{InputResponses: responses}, Arguments: jsontext.Value(arguments)}
}

func TestToolset(t *testing.T) {
	var names []string
	for _, tool := range basics.Toolset().Tools {
		names = append(names, tool.Name)
		assert.NotEmpty(t, tool.Description, tool.Name)
		assert.True(t, *tool.Annotations.ReadOnly, tool.Name)
		assert.Error(t, valid(t, tool.InputSchema, `{}`), "%s takes no arguments", tool.Name)
		assert.Error(t, valid(t, tool.InputSchema, `{"surplus":1}`), "%s takes surplus arguments", tool.Name)
	}
	assert.Equal(t, []string{"echo", "calculate_sum", "divide", "delete_resource", "slow"}, names)
}

func TestEcho(t *testing.T) {
	for _, text := range []string{`"hello"`, `""`, `"\u0000 ü 漢 \ud83d\ude00"`} {
		var want string
		require.NoError(t, json.Unmarshal([]byte(text), &want))
		got, err := output(t, "echo", `{"text":`+text+`}`)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestArithmetic(t *testing.T) {
	tests := []struct{ tool, a, b, want string }{
		{"calculate_sum", "3", "4", "7"},
		{"calculate_sum", "0.1", "0.2", "0.3"},
		{"calculate_sum", "9007199254740993", "0", "9007199254740993"},
		{"calculate_sum", "123456789012345678901234567890", "1", "123456789012345678901234567891"},
		{"calculate_sum", "1.50", "-0.5", "1"},
		{"calculate_sum", "-0", "0", "0"},
		{"calculate_sum", "1E2", "1e-2", "100.01"},
		{"calculate_sum", "1e308", "1e308", "2" + strings.Repeat("0", 308)},
		{"divide", "7", "2", "3.5"},
		{"divide", "6", "3", "2"},
		{"divide", "-1", "8", "-0.125"},
		{"divide", "0", "5", "0"},
		{"divide", "1", "3", "0.3333333333333333"},
		{"divide", "10", "3", "3.3333333333333335"},
		{"divide", "9007199254740993", "1", "9007199254740993"},
		{"divide", "1e300", "3e-300", ""},
		{"divide", "1", "3e-9", "333333333.3333333"},
	}
	for _, tt := range tests {
		t.Run(tt.tool+" "+tt.a+" "+tt.b, func(t *testing.T) {
			got, err := output(t, tt.tool, `{"a":`+tt.a+`,"b":`+tt.b+`}`)
			if tt.want == "" {
				assert.EqualError(t, err, "the result is too large")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestDivisionByZero(t *testing.T) {
	for _, zero := range []string{"0", "-0", "0.00", "0e5"} {
		_, err := output(t, "divide", `{"a":1,"b":`+zero+`}`)
		assert.EqualError(t, err, "division by zero", zero)
	}
}

// A few characters must not cost much time or memory.
func TestArithmeticIsBounded(t *testing.T) {
	for _, huge := range []string{
		"1e401", "1e-401", "1e999999999", "-1e-999999999", "1e99999999999999999999", strings.Repeat("9", 401),
	} {
		for _, arguments := range []string{`{"a":` + huge + `,"b":1}`, `{"a":1,"b":` + huge + `}`} {
			_, err := output(t, "calculate_sum", arguments)
			assert.ErrorContains(t, err, "a number may have")
		}
	}
}

func FuzzArithmetic(f *testing.F) {
	for _, seed := range []string{"1", "-0.5", "1e400", "1E-400", "9007199254740993", "0"} {
		f.Add(seed, "3")
	}
	sum, quotient := tool(f, "calculate_sum"), tool(f, "divide")
	f.Fuzz(func(t *testing.T, a, b string) {
		arguments := jsontext.Value(`{"a":` + a + `,"b":` + b + `}`)
		if !arguments.IsValid() {
			return
		}
		for _, tool := range []mcp.ServerTool{sum, quotient} {
			out, err := tool.Run(t.Context(), call(string(arguments), nil))
			if err != nil {
				continue
			}
			text, err := jsonrpc.Marshal(out)
			require.NoError(t, err)
			assert.Equal(t, jsontext.KindNumber, jsontext.Value(text).Kind())
		}
	})
}

func TestDeleteResource(t *testing.T) {
	const deleted = `The resource "db" was deleted. (A demonstration: nothing real was.)`
	const kept = `The resource "db" was not deleted.`
	tests := []struct {
		name, answer, want string // no want: asked again
	}{
		{"not asked yet", ``, ""},
		{"yes", `"yes"`, deleted},
		{"no", `"no"`, ""},
		{"yes in other case", `"Yes"`, ""},
		{"not a text", `true`, ""},
		{"null", `null`, ""},
		{"form with yes", `{"action":"accept","content":{"confirm":"yes"}}`, deleted},
		{"form with no", `{"action":"accept","content":{"confirm":"no"}}`, ""},
		{"form with another field", `{"action":"accept","content":{"other":"yes"}}`, ""},
		{"form without content", `{"action":"accept"}`, ""},
		{"declined", `{"action":"decline"}`, kept},
		{"declined with content", `{"action":"decline","content":{"confirm":"yes"}}`, kept},
		{"cancelled", `{"action":"cancel"}`, kept},
		{"unknown action", `{"action":"maybe"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			responses := mcp.InputResponses{"other": jsontext.Value(`"yes"`)}
			if tt.answer != "" {
				responses["confirm"] = jsontext.Value(tt.answer)
			}
			out, err := tool(t, "delete_resource").Run(t.Context(), call(`{"name":"db"}`, responses))
			if tt.want != "" {
				require.NoError(t, err)
				assert.Equal(t, tt.want, out)
				return
			}
			required, ok := errors.AsType[*mcp.InputRequired](err)
			require.True(t, ok, "got %v, %v", out, err)
			require.Len(t, required.Requests, 1)
			assert.Equal(t, mcp.Ask("confirm", `Delete the resource "db"? Answer yes to delete it.`), required.Requests[0])
		})
	}
}

type progress struct {
	Params struct {
		Progress, Total float64
	}
}

// slowCall is a call of slow that keeps its progress notifications.
func slowCall(t *testing.T, seconds string) (*mcp.ToolCall, *[]progress) {
	t.Helper()
	req, fault := mcp.ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":7}}}`))
	require.Nil(t, fault)
	var got []progress
	inner, fault := mcp.NewCall(req, mcp.CallConfig{Notify: func(notification []byte) {
		var p progress
		assert.NoError(t, json.Unmarshal(notification, &p, json.MatchCaseInsensitiveNames(true)))
		got = append(got, p)
	}})
	require.Nil(t, fault)
	return &mcp.ToolCall{Call: inner, Arguments: jsontext.Value(`{"seconds":` + seconds + `}`)}, &got
}

func TestSlow(t *testing.T) {
	tests := []struct {
		seconds string
		takes   time.Duration
		reports int
	}{
		{"0", 0, 1},
		{"0.001", time.Millisecond, 1},
		{"0.05", 50 * time.Millisecond, 1},
		{"0.12", 120 * time.Millisecond, 3},
		{"10", 10 * time.Second, 10},
		{"3600", time.Hour, 10},
	}
	for _, tt := range tests {
		t.Run(tt.seconds, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call, reports := slowCall(t, tt.seconds)
				start := time.Now()
				out, err := tool(t, "slow").Run(t.Context(), call)
				require.NoError(t, err)
				assert.Equal(t, "Waited for "+tt.seconds+" seconds.", out)
				assert.Equal(t, tt.takes, time.Since(start))
				require.Len(t, *reports, tt.reports)
				last := (*reports)[tt.reports-1].Params
				assert.Equal(t, tt.takes.Seconds(), last.Progress)
				assert.Equal(t, tt.takes.Seconds(), last.Total)
			})
		})
	}
}

func TestSlowIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		call, reports := slowCall(t, "10")
		start := time.Now()
		_, err := tool(t, "slow").Run(ctx, call)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2500*time.Millisecond, time.Since(start))
		assert.Len(t, *reports, 2)
	})
}

func TestSlowBounds(t *testing.T) {
	schema := tool(t, "slow").InputSchema
	require.NoError(t, valid(t, schema, `{"seconds":3600}`))
	for _, seconds := range []string{"-0.1", "3600.1", `"1"`, "null"} {
		assert.Error(t, valid(t, schema, `{"seconds":`+seconds+`}`), seconds)
	}
}
