package mcp_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestHeaderText(t *testing.T) {
	for _, test := range []struct {
		values      []string
		want, fault string
	}{
		{[]string{"us-west1"}, "us-west1", ""},
		{[]string{" \tpadded\t "}, "padded", ""},
		{[]string{"a\tb c~!"}, "a\tb c~!", ""},
		{[]string{""}, "", ""},
		{nil, "", "is missing"},
		{[]string{"a", "a"}, "", "occurs more than once"},
		{[]string{"größe"}, "", "has characters outside of visible ASCII"},
		{[]string{"a\x00"}, "", "has characters outside of visible ASCII"},
		{[]string{"a\x7f"}, "", "has characters outside of visible ASCII"},
		{[]string{"a\nb"}, "", "has characters outside of visible ASCII"},
	} {
		got, err := mcp.HeaderText("Mcp-Param-A", test.values)
		assert.Equal(t, test.want, got)
		if test.fault == "" {
			assert.Nil(t, err)
			continue
		}
		require.NotNil(t, err, test.values)
		assert.Equal(t, mcp.CodeHeaderMismatch, err.Code)
		assert.Equal(t, "Header mismatch: Mcp-Param-A "+test.fault, err.Message)
	}
}

// The examples are those of the specification.
func TestHeaderValue(t *testing.T) {
	for text, want := range map[string]string{
		"us-west1":                            "us-west1",
		"=?base64?SGVsbG8sIOS4lueVjA==?=":     "Hello, 世界",
		"=?base64?IHBhZGRlZCA=?=":             " padded ",
		"=?base64?bGluZTEKbGluZTI=?=":         "line1\nline2",
		"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD8=?=": "=?base64?literal?",
		"=?base64?SGVsbG8=":                   "=?base64?SGVsbG8=",
		"SGVsbG8=":                            "SGVsbG8=",
		"=?BASE64?SGVsbG8=?=":                 "=?BASE64?SGVsbG8=?=",
		"=?base64??=":                         "",
	} {
		got, err := mcp.HeaderValue("Mcp-Name", []string{text})
		require.Nil(t, err, text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?SGVsbG9=?=", "=?base64?SGVs bG8=?="} {
		_, err := mcp.HeaderValue("Mcp-Name", []string{text})
		require.NotNil(t, err, text)
		assert.Equal(t, "Header mismatch: Mcp-Name is not valid Base64", err.Message)
	}
}

func TestParamHeadersIn(t *testing.T) {
	assert.Nil(t, mcp.ParamHeadersIn(nil))
	assert.Nil(t, mcp.ParamHeadersIn(map[string][]string{"Mcp-Name": {"x"}, "Mcp-Param": {"x"}, "X-Mcp-Param-A": {"x"}}))
	assert.Equal(t, mcp.ParamHeaders{"region": {"1"}, "": {"2"}, "a!b": {"3", "4"}}, mcp.ParamHeadersIn(map[string][]string{
		"Mcp-Param-Region": {"1"}, "mcp-param-": {"2"}, "MCP-PARAM-A!B": {"3", "4"}, "Accept": {"5"},
	}))
	both := mcp.ParamHeadersIn(map[string][]string{"Mcp-Param-A": {"1"}, "Mcp-Param-a": {"2"}})
	assert.ElementsMatch(t, []string{"1", "2"}, both["a"], "none of two spellings is lost")
}

func FuzzHeaderValue(f *testing.F) {
	for _, seed := range []string{"", "us-west1", "=?base64?SGVsbG8=?=", "=?base64?SGVsbG8?=", "=?base64?=", "=?base64??=", "=?base64?SGVsbG8=", " x\n"} {
		f.Add(seed)
	}
	encode := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	f.Fuzz(func(t *testing.T, value string) {
		got, err := mcp.HeaderValue("Mcp-Name", []string{encode(value)})
		require.Nil(t, err)
		assert.Equal(t, value, got, "decoding undoes encoding")

		got, err = mcp.HeaderValue("Mcp-Name", []string{value})
		text := strings.Trim(value, " \t")
		switch marked := len(text) >= 11 && strings.HasPrefix(text, "=?base64?") && strings.HasSuffix(text, "?="); {
		case err != nil:
			assert.Equal(t, mcp.CodeHeaderMismatch, err.Code)
		case marked:
			assert.Equal(t, text, encode(got), "there is one encoding of a value")
		default:
			assert.Equal(t, text, got, "what is not marked stands for itself")
		}
	})
}
