package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/strictjson"
)

func parse(text string) (jsonrpc.Request, *jsonrpc.Error) {
	return jsonrpc.Parse([]byte(text), jsonrpc.Visitor{})
}

func TestParseKeepsIDs(t *testing.T) {
	for _, id := range []string{
		`1`, `"1"`, `0`, `-0`, `-7`, `9007199254740993`, `-9223372036854775809`, strings.Repeat("9", 100),
		`""`, `" 1 "`, `"null"`, `"a\u0062\/\n"`, `"\ud83d\ude00"`, `"é"`,
	} {
		request, err := parse(`{"jsonrpc":"2.0","id": ` + id + ` ,"method":"ping"}`)
		require.Nil(t, err, id)
		assert.Equal(t, jsonrpc.Request{ID: jsonrpc.ID(id), Method: "ping"}, request)
		assert.Equal(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`, string(jsonrpc.AppendResult(nil, request.ID, []byte(`{}`))))
	}
}

func TestParseAccepts(t *testing.T) {
	tests := map[string]jsonrpc.Request{
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`:                      {Method: "notifications/cancelled"},
		`{"method":"m","params":{},"id":1,"jsonrpc":"2.0"}`:                         {ID: "1", Method: "m"},
		" {\n\t\"jsonrpc\" : \"2.0\",\r\"id\":1, \"method\" :\"m\" } \n":            {ID: "1", Method: "m"},
		`{"jsonrpc":"2.0","id":1,"method":""}`:                                      {ID: "1"},
		`{"jsonrpc":"\u0032.0","id":1,"meth\u006fd":"tools\/call"}`:                 {ID: "1", Method: "tools/call"},
		`{"jsonrpc":"2.0","id":1,"method":"m","extra":[{"id":2}],"_meta":3}`:        {ID: "1", Method: "m"},
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":2,"a":{"x":1,"X":2}}}`: {ID: "1", Method: "m"},
	}
	for text, want := range tests {
		got, err := parse(text)
		require.Nil(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestParseRefuses(t *testing.T) {
	const invalid, notJSON = jsonrpc.CodeInvalidRequest, jsonrpc.CodeParseError
	tests := []struct {
		text string
		code int
		id   jsonrpc.ID
	}{
		// ids
		{`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1e3,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1E3,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":false,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":{},"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":["1"],"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","i\u0064":2}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":null,"id":1,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1,"id":null,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","id":1,"id":2,"id":3,"method":"m"}`, invalid, ""},
		{`{"jsonrpc":"2.0","ID":1,"id":2,"method":"m"}`, invalid, "2"},

		// members of the envelope
		{`{"id":1,"method":"m"}`, invalid, "1"},
		{`{"jsonrpc":"1.0","id":1,"method":"m"}`, invalid, "1"},
		{`{"jsonrpc":"2.00","id":1,"method":"m"}`, invalid, "1"},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, invalid, "1"},
		{`{"jsonrpc":null,"id":1,"method":"m"}`, invalid, "1"},
		{`{"jsonrpc":["2.0"],"id":1,"method":"m"}`, invalid, "1"},
		{`{"JSONRPC":"2.0","id":1,"method":"m"}`, invalid, "1"},
		{`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":{"m":1}}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"Method":"m"}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","METHOD":"n"}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","error":{}}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","extra":{"a":1,"a":2}}`, invalid, "1"},

		// params
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[1,2]}`, invalid, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"{}"}`, invalid, "1"},
		{`{"jsonrpc":"2.0","method":"m","params":{},"paramſ":{},"id":1}`, invalid, "1"},
		{`{"jsonrpc":"2.0","method":"m","params":{},"params":{},"id":1}`, invalid, "1"},
		{`{"jsonrpc":"2.0","method":"m","params":{"name":1,"name":1},"id":1}`, invalid, "1"},
		{`{"jsonrpc":"2.0","method":"m","params":{"name":1,"Name":1},"id":1}`, invalid, "1"},
		{`{"jsonrpc":"2.0","method":"m","params":{"a":[{"b":1,"\u0062":1}]},"id":"x"}`, invalid, `"x"`},
		{`{"jsonrpc":"2.0","method":"m","params":{"a":` + nest(200) + `},"id":"x"}`, invalid, `"x"`},

		// not an object
		{`[]`, invalid, ""},
		{`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, invalid, ""},
		{`null`, invalid, ""},
		{`"m"`, invalid, ""},
		{`1`, invalid, ""},
		{`{}`, invalid, ""},

		// not JSON
		{``, notJSON, ""},
		{`{`, notJSON, ""},
		{`[`, notJSON, ""},
		{`hello`, notJSON, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m"`, notJSON, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}}`, notJSON, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"} {"jsonrpc":"2.0","id":2,"method":"m"}`, notJSON, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m",}`, notJSON, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, notJSON, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"\ud800"}}`, notJSON, "1"},
		{`{"jsonrpc":"1.0","id":1,"method":7,"params":}`, notJSON, "1"},
		{`{"jsonrpc":"2.0","id":01,"method":"m"}`, notJSON, "0"},
		{`{"jsonrpc":"2.0","method":,"id":1}`, notJSON, ""},
		{`{"jsonrpc":"2.0","id":"x}`, notJSON, ""},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			request, err := parse(test.text)
			require.NotNil(t, err)
			assert.Equal(t, test.code, err.Code, err.Message)
			assert.Equal(t, test.id, request.ID)
			assert.Nil(t, err.Data)
		})
	}
}

func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// The id is found wherever it stands, whatever else is wrong.
func TestParseFindsTheID(t *testing.T) {
	faults := []string{
		`"jsonrpc":"1.0","method":"m"`, `"jsonrpc":"2.0"`, `"jsonrpc":"2.0","method":1`, `"method":"m"`,
		`"jsonrpc":"2.0","method":"m","method":"m"`, `"jsonrpc":"2.0","method":"m","params":[]`,
		`"jsonrpc":"2.0","method":"m","params":{"a":1,"A":1}`, `"jsonrpc":"2.0","method":"m","params":{"a":` + nest(1000) + `}`,
		`"jsonrpc":"2.0","method":"m","result":1`, `"jsonrpc":"2.0","method":"m","deep":` + nest(1000),
	}
	for _, fault := range faults {
		for _, text := range []string{`{"id":"7",` + fault + `}`, `{` + fault + `,"id":"7"}`} {
			request, err := parse(text)
			require.NotNil(t, err, text)
			assert.Equal(t, jsonrpc.CodeInvalidRequest, err.Code, text)
			assert.Equal(t, jsonrpc.ID(`"7"`), request.ID, text)
		}
	}
}

func TestParseMessages(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                          "Invalid request: batches are not supported, send one request",
		`{"jsonrpc":"2.0"}`:           `Invalid request: the member "method" is missing`,
		`{"method":"m","method":"m"}`: `Invalid request: the member "jsonrpc" is missing`,
		`{"jsonrpc":"2.0","method":"m","params":{"a":1,"A":2}}`: `Invalid request: ambiguous JSON: member "A" occurs twice`,
		`{"jsonrpc":"2.0",}`: "Parse error: not valid JSON: expected a member name at byte 17",
	} {
		_, err := parse(text)
		require.NotNil(t, err, text)
		assert.Equal(t, want, err.Message)
	}
}

func TestVisitor(t *testing.T) {
	params, others := map[string]string{}, map[string]string{}
	into := func(seen map[string]string) func([]byte, *strictjson.Reader) error {
		return func(name []byte, r *strictjson.Reader) error {
			value, err := r.Value()
			seen[string(name)] = string(value)
			return err
		}
	}
	text := `{"jsonrpc":"2.0","_meta":{"a":1},"id":1,"method":"m","params":{"name":"n","\u0061rguments":{"b": [2]}},"x":null}`
	request, err := jsonrpc.Parse([]byte(text), jsonrpc.Visitor{Param: into(params), Other: into(others)})
	require.Nil(t, err)
	assert.Equal(t, jsonrpc.Request{ID: "1", Method: "m"}, request)
	assert.Equal(t, map[string]string{"name": `"n"`, "arguments": `{"b": [2]}`}, params)
	assert.Equal(t, map[string]string{"_meta": `{"a":1}`, "x": "null"}, others)
}

func TestParseID(t *testing.T) {
	for raw, want := range map[string]bool{
		`1`: true, `-1`: true, `-0`: true, `"a"`: true, `""`: true,
		``: false, `-`: false, `1.5`: false, `1e3`: false, `null`: false, `true`: false, `{}`: false, `[]`: false,
	} {
		id, ok := jsonrpc.ParseID([]byte(raw))
		assert.Equal(t, want, ok, raw)
		if ok {
			assert.Equal(t, jsonrpc.ID(raw), id)
		} else {
			assert.Empty(t, id)
		}
	}
}

func TestStringID(t *testing.T) {
	assert.Equal(t, jsonrpc.ID(`"1"`), jsonrpc.StringID("1"))
	assert.Equal(t, jsonrpc.ID(`"a\"\n"`), jsonrpc.StringID("a\"\n"))
	assert.NotEqual(t, jsonrpc.ID(`1`), jsonrpc.StringID("1"))
}
