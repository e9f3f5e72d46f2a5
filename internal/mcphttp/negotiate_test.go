package mcphttp

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

func TestContentTypes(t *testing.T) {
	tests := []struct {
		values []string
		want   bool
	}{
		{nil, true},
		{[]string{"application/json"}, true},
		{[]string{"Application/JSON"}, true},
		{[]string{"application/json; charset=utf-8"}, true},
		{[]string{`application/json;charset="UTF-8"`}, true},
		{[]string{"application/json; profile=x"}, true},
		{[]string{"application/vnd.mcp+json"}, true},
		{[]string{"application/json; charset=latin1"}, false},
		{[]string{"application/json; charset"}, false},
		{[]string{"text/plain"}, false},
		{[]string{"text/json"}, false},
		{[]string{"image/svg+json"}, false},
		{[]string{"application/jsonp"}, false},
		{[]string{""}, false},
		{[]string{"application/json", "application/json"}, false},
	}
	for _, tt := range tests {
		r := strictPost()
		r.Header.Del("Content-Type")
		if tt.values != nil {
			r.Header["Content-Type"] = tt.values
		}
		if tt.want {
			assert.Equal(t, http.StatusOK, do(newHandler(t, okay, Config{}), r).Code, tt.values)
		} else {
			assertError(t, do(newHandler(t, unreachable(t), Config{}), r), http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "")
		}
	}
}

func TestContractTakesAnyContentType(t *testing.T) {
	r := post("/rpc", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	assert.Equal(t, http.StatusOK, do(newHandler(t, okay, Config{}), r).Code)
}

func TestParseAccept(t *testing.T) {
	both, none := accepted{json: true, events: true}, accepted{}
	tests := []struct {
		lines []string
		want  accepted
	}{
		{nil, both},
		{[]string{""}, both},
		{[]string{" , "}, both},
		{[]string{"application/json, text/event-stream"}, both},
		{[]string{"text/event-stream,application/json"}, both},
		{[]string{"application/json", "text/event-stream"}, both},
		{[]string{"*/*"}, both},
		{[]string{"TEXT/*;q=0.1, Application/*"}, both},
		{[]string{"text/html, */*;q=0.1"}, both},
		{[]string{"application/json"}, accepted{json: true}},
		{[]string{"application/json;charset=utf-8;q=0.5"}, accepted{json: true}},
		{[]string{"application/*"}, accepted{json: true}},
		{[]string{"*/*, text/event-stream;q=0"}, accepted{json: true}},
		{[]string{"text/event-stream; q=0.000, */*"}, accepted{json: true}},
		{[]string{"text/*;q=0, */*"}, accepted{json: true}},
		{[]string{"text/event-stream"}, accepted{events: true}},
		{[]string{"application/*;q=0, application/json;q=0.1"}, accepted{json: true}},
		{[]string{"application/json; Q=0, application/*"}, none},
		{[]string{"application/json;q=zero"}, accepted{json: true}},
		{[]string{"text/html"}, none},
		{[]string{"*/*;q=0"}, none},
		{[]string{"application/jsonx, applicatio/*, */json, *"}, none},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, parseAccept(tt.lines), tt.lines)
	}
}

func TestNothingAcceptable(t *testing.T) {
	r := strictPost()
	r.Header.Set("Accept", "text/html")
	assertError(t, do(newHandler(t, unreachable(t), Config{}), r), http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "")
}
