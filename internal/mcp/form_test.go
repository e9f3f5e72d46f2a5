package mcp_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

var colours = []mcp.Option{{Value: "r"}, {Value: "g"}}

var titled = []mcp.Option{{Value: "r", Title: "Red"}, {Value: "g", Title: "Green"}}

func TestFieldSchemas(t *testing.T) {
	tests := []struct {
		field mcp.Field
		want  string
	}{
		{mcp.Field{Type: mcp.TextField, Title: "T", Description: "D", MinLength: 1, MaxLength: 9, Format: "email", Default: "x"},
			`{"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"format":"email","default":"x"}`},
		{mcp.Field{Type: mcp.NumberField, Minimum: new(0.0), Maximum: new(1.5), Default: 0}, `{"type":"number","minimum":0,"maximum":1.5,"default":0}`},
		{mcp.Field{Type: mcp.IntegerField}, `{"type":"integer"}`},
		{mcp.Field{Type: mcp.BooleanField, Default: false}, `{"type":"boolean","default":false}`},
		{mcp.Field{Type: mcp.ChoiceField, Options: colours, Default: "r"}, `{"type":"string","enum":["r","g"],"default":"r"}`},
		{mcp.Field{Type: mcp.ChoiceField, Options: titled}, `{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}`},
		{mcp.Field{Type: mcp.ChoicesField, Options: colours, MinItems: 1, MaxItems: 2, Default: []string{"r"}},
			`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["r","g"]},"default":["r"]}`},
		{mcp.Field{Type: mcp.ChoicesField, Options: titled},
			`{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}}`},
	}
	for _, test := range tests {
		assertJSON(t, test.want, test.field)
	}
}

// inputs returns a call whose client has answered id with answer.
func inputs(id, answer string) *mcp.Call {
	return &mcp.Call{InputResponses: mcp.InputResponses{id: jsontext.Value(answer)}}
}

func TestAnswersThatFit(t *testing.T) {
	text := mcp.Field{Name: "f", Type: mcp.TextField, Required: true, MinLength: 2, MaxLength: 3}
	integer := mcp.Field{Name: "f", Type: mcp.IntegerField, Minimum: new(1.0), Maximum: new(3.0)}
	several := mcp.Field{Name: "f", Type: mcp.ChoicesField, Options: colours, MinItems: 1, MaxItems: 1}
	tests := []struct {
		field      mcp.Field
		fit, wrong []string
	}{
		{text, []string{`"ab"`, `"äöü"`}, []string{`"a"`, `"abcd"`, `12`, `null`}},
		{integer, []string{`1`, `3.0`, `null`}, []string{`0`, `4`, `1.5`, `"1"`}},
		{mcp.Field{Name: "f", Type: mcp.NumberField}, []string{`1.5`, `-2e3`}, []string{`"x"`, `true`}},
		{mcp.Field{Name: "f", Type: mcp.BooleanField}, []string{`true`, `false`}, []string{`"true"`, `1`}},
		{mcp.Field{Name: "f", Type: mcp.ChoiceField, Options: titled}, []string{`"r"`}, []string{`"Red"`, `["r"]`}},
		{several, []string{`["r"]`}, []string{`[]`, `["r","g"]`, `["x"]`, `"r"`}},
	}
	for _, test := range tests {
		form := mcp.Form("id", "?", test.field)
		for _, value := range test.fit {
			assert.NoError(t, inputs("id", `{"action":"accept","content":{"f":`+value+`}}`).Input(form), "%s %s", test.field.Type, value)
		}
		for _, value := range test.wrong {
			assert.Error(t, inputs("id", `{"action":"accept","content":{"f":`+value+`}}`).Input(form), "%s %s", test.field.Type, value)
		}
		assert.NoError(t, inputs("id", `{"action":"decline"}`).Input(form), "declining is an answer")
		assert.Error(t, inputs("id", `{"action":"perhaps"}`).Input(form))
		assert.Error(t, inputs("other", `{"action":"accept"}`).Input(form))
	}
}

func TestInputAsksForWhatIsMissing(t *testing.T) {
	form := mcp.Form("form", "?")
	visit, ask := mcp.Visit("visit", "?", "https://example.com"), mcp.Ask("ask", "?")
	sample, roots := mcp.Sample("sample", mcp.SamplingParams{}), mcp.ListRoots("roots")
	all := []mcp.InputRequest{form, visit, ask, sample, roots}
	answers := mcp.InputResponses{
		"form": jsontext.Value(`{"action":"accept","content":{}}`), "visit": jsontext.Value(`{"action":"accept"}`), "ask": jsontext.Value(`"yes"`),
		"sample": jsontext.Value(`{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}`),
		"roots":  jsontext.Value(`{"roots":[{"uri":"file:///x","name":"x"}]}`), "unasked": jsontext.Value(`1`),
	}
	call := &mcp.Call{InputResponses: answers}
	require.NoError(t, call.Input(all...))
	assert.Len(t, call.Answered(), len(all), "and nothing that was not asked for")

	for _, r := range all {
		some := mcp.InputResponses{}
		for id, answer := range answers {
			if id != r.ID {
				some[id] = answer
			}
		}
		call := &mcp.Call{InputResponses: some}
		var asked *mcp.InputRequired
		require.ErrorAs(t, call.Input(all...), &asked)
		require.Len(t, asked.Requests, 1)
		assert.Equal(t, r.ID, asked.Requests[0].ID)
		assert.Len(t, call.Answered(), len(all)-1)
	}
}

func TestTypedAnswers(t *testing.T) {
	r := mcp.InputResponses{
		"one":  jsontext.Value(`{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}`),
		"many": jsontext.Value(`{"role":"assistant","model":"m","content":[{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"ho"}]}`),
		"tool": jsontext.Value(`{"role":"assistant","model":"m","content":[{"type":"tool_use","id":"1","name":"t","input":{}},{"type":"tool_result","toolUseId":"1","content":[]}]}`),
		"user": jsontext.Value(`{"role":"user","model":"m","content":[]}`),
	}
	for id, want := range map[string]string{"one": "hi", "many": "ho", "tool": "", "user": ""} {
		result, ok := r.Sampled(id)
		assert.True(t, ok, id)
		assert.Equal(t, want, result.Text(), id)
	}
	answer := func(text string) mcp.InputResponses { return mcp.InputResponses{"a": jsontext.Value(text)} }
	for _, other := range []string{
		`{"role":"assistant","model":"m"}`, `{"role":"tool","model":"m","content":[]}`, `{"role":"assistant","content":[]}`,
		`{"role":"assistant","model":"m","content":7}`, `{"role":"assistant","model":"m","content":{}}`, `{"role":"assistant","model":"m","content":[7]}`,
		`{"role":"assistant","model":"m","content":{"type":"text"}}`, `{"role":"assistant","model":"m","content":{"type":"image","data":"!","mimeType":"image/png"}}`,
		`{"role":"assistant","model":"m","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"1","name":"t"}]}`,
		`{"role":"assistant","model":"m","content":{"type":"tool_result","toolUseId":"1"}}`, `{"role":"assistant","model":"m","content":{"type":"resource"}}`,
	} {
		_, ok := answer(other).Sampled("a")
		assert.False(t, ok, other)
	}
	for text, want := range map[string]bool{
		`{"roots":[]}`: true, `{"roots":[{"uri":"file:///x"}]}`: true,
		`{}`: false, `{"roots":[{"uri":""}]}`: false, `{"roots":[{"uri":"file:///x"},{"uri":"https://example.com/"}]}`: false, `{"roots":[{}]}`: false,
	} {
		_, ok := answer(text).Roots("a")
		assert.Equal(t, want, ok, text)
	}
}
