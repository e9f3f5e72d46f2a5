package jsonrpc_test

import (
	stdjson "encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

func TestMarshal(t *testing.T) {
	type scalars struct {
		A []int  `json:"a"`
		B string `json:"b,omitzero"`
	}
	for want, v := range map[string]any{
		`{"a":[]}`:                        scalars{},
		`{"a":1,"b":2,"c":3}`:             map[string]int{"c": 3, "b": 2, "a": 1},
		`{"n":[9007199254740993,1e3,-0]}`: map[string]any{"n": []any{stdjson.Number("9007199254740993"), stdjson.Number("1e3"), stdjson.Number("-0")}},
		`"<&>"`:                           "<&>",
		`"\n"`:                            "\n",
		"\"a\ufffdb\"":                    "a\xffb",
		`{"a":[1,2]}`:                     jsontext.Value("{ \"a\" : [ 1,\n2 ] }"),
		`9007199254740993`:                jsontext.Value(`9007199254740993`),
		`["x",1.5,true,null]`:             []any{"x", 1.5, true, nil},
		`{"code":1,"message":""}`:         &jsonrpc.Error{Code: 1},
	} {
		got, err := jsonrpc.Marshal(v)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	for _, v := range []any{math.NaN(), stdjson.Number("1x"), make(chan int), jsontext.Value("{")} {
		_, err := jsonrpc.Marshal(v)
		assert.Error(t, err)
	}
}

func TestAppendResult(t *testing.T) {
	got := jsonrpc.AppendResult([]byte("data: "), `"a"`, []byte(`{"x":1}`))
	assert.Equal(t, `data: {"jsonrpc":"2.0","id":"a","result":{"x":1}}`, string(got))
	got = jsonrpc.AppendResult(nil, "1", []byte(`{"x"`), nil, []byte(`:1`), []byte(`}`))
	assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"x":1}}`, string(got))
}

func TestAppendError(t *testing.T) {
	tests := []struct {
		id   jsonrpc.ID
		err  *jsonrpc.Error
		want string
	}{
		{"1", jsonrpc.Errorf(-32601, "Method not found: %s", "m"), `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: m"}}`},
		{"", jsonrpc.Errorf(-32700, "Parse error"), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`},
		{"1", &jsonrpc.Error{Code: 1, Data: map[string]any{"b": 1, "a": 2}}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":{"a":2,"b":1}}}`},
		{"1", &jsonrpc.Error{Code: 1, Data: false}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":false}}`},
		{"1", &jsonrpc.Error{Code: 1, Message: "m", Data: math.Inf(1)}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
		{"1", &jsonrpc.Error{Code: 1, Message: "m", Data: make(chan int)}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
		{"1", &jsonrpc.Error{Code: 1, Message: "m", Data: jsontext.Value("{")}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
		{"1", &jsonrpc.Error{Code: 1, Message: "a\xffb\n"}, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a` + "\ufffd" + `b\n"}}`},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, string(jsonrpc.AppendError(nil, test.id, test.err)))
	}
}

func TestAppendNotification(t *testing.T) {
	got := jsonrpc.AppendNotification(nil, "notifications/progress", []byte(`{"progress":1}`))
	assert.Equal(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`, string(got))
}

func TestErrorText(t *testing.T) {
	var err error = jsonrpc.Errorf(-32602, "Invalid params: %d", 7)
	assert.EqualError(t, err, "Invalid params: 7 (-32602)")
	_, ok := errors.AsType[*jsonrpc.Error](err)
	assert.True(t, ok)
}

// Strings are encoded as the JSON library does it.
func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain text", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "a line\nof é漢😀\u2028\u2029\ufeff and more", "\xff\xc3(\xed\xa0\x80 \xf0\x9f", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, _ := jsontext.AppendQuote([]byte("before"), s) // an error only tells that bytes were replaced
		if got := jsonrpc.AppendString([]byte("before"), s); string(got) != string(want) {
			t.Fatalf("want %s, got %s", want, got)
		}
	})
}

// Whatever the strings, the output is one line of valid JSON.
func FuzzAppend(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é漢😀\u2028\u2029\ufeff", "\xff\xc3(\xed\xa0\x80", "</script>&'"} {
		f.Add(seed, seed, seed)
	}
	f.Fuzz(func(t *testing.T, id, message, data string) {
		raw := jsonrpc.StringID(id)
		result, err := jsonrpc.Marshal(map[string]string{data: message})
		if err != nil {
			t.Fatal(err)
		}
		requireLine(t, jsonrpc.AppendResult(nil, raw, result))
		requireLine(t, jsonrpc.AppendError(nil, raw, &jsonrpc.Error{Code: 1, Message: message, Data: data}))
		requireLine(t, jsonrpc.AppendError(nil, raw, &jsonrpc.Error{Code: 1, Message: message, Data: map[string]any{data: data, message: id}}))
		requireLine(t, jsonrpc.AppendError(nil, "", jsonrpc.Errorf(1, "%s %q", message, data)))
		requireLine(t, jsonrpc.AppendNotification(nil, message, result))
	})
}

func requireLine(t *testing.T, message []byte) {
	t.Helper()
	if !jsontext.Value(message).IsValid() {
		t.Fatalf("not valid JSON: %q", message)
	}
	for _, c := range message {
		if c < ' ' {
			t.Fatalf("control character in %q", message)
		}
	}
}
