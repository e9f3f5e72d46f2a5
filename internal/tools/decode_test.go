package tools

import (
	stdjson "encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

type plain struct {
	Text  string  `json:"text"`
	Count int     `json:"count,omitzero"`
	Share float64 `json:"share"`
	Sure  bool    `json:"sure"`
}

type named string

func TestPlainFieldsOnly(t *testing.T) {
	assert.Len(t, newDecoder[plain]().fields, 4)
	assert.Nil(t, newDecoder[map[string]any]().fields)
	assert.Nil(t, newDecoder[struct {
		Text named `json:"text"`
	}]().fields)
	assert.Nil(t, newDecoder[struct{ Text string }]().fields, "a name that the library makes up")
	assert.Nil(t, newDecoder[struct {
		Text string `json:"-"`
	}]().fields)
	assert.Nil(t, newDecoder[struct {
		Count int `json:"count,string"`
	}]().fields)
	assert.Nil(t, newDecoder[struct {
		Text *string `json:"text"`
	}]().fields)
	assert.Nil(t, newDecoder[struct{ plain }]().fields)
}

// TestDecodeIsWhatTheLibraryDoes compares the short way with the long one.
func TestDecodeIsWhatTheLibraryDoes(t *testing.T) {
	d := newDecoder[plain]()
	for _, arguments := range []string{
		`{}`, `{"text":"a\u00e9\n","count":-3,"share":0.25,"sure":true}`, `{"text":null,"count":null,"share":null,"sure":null}`,
		`{"TEXT":"other","more":[1]}`, `{"share":1e308}`, `{"share":-0}`, `{"count":1.0}`, `{"count":1e2}`, `{"count":99999999999999999999}`,
		`{"share":1e999}`, `{"text":1}`, `{"count":"1"}`, `{"sure":"true"}`, `{"text":"kept","sure":0}`,
	} {
		var want plain
		wantErr := json.Unmarshal([]byte(arguments), &want)
		var values map[string]any
		dec := stdjson.NewDecoder(strings.NewReader(arguments))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&values))
		got, err := d.decode(&mcp.ToolCall{Arguments: jsontext.Value(arguments), Values: values})
		if wantErr != nil {
			require.ErrorContains(t, err, "read arguments: "+wantErr.Error(), arguments)
			continue
		}
		require.NoError(t, err, arguments)
		assert.Equal(t, want, got, arguments)
	}
}
