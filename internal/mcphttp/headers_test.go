package mcphttp

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestMirroredHeaders(t *testing.T) {
	tests := []struct {
		name   string
		header string
		values []string
		want   bool
	}{
		{"version missing", "Mcp-Protocol-Version", nil, false},
		{"version differs", "Mcp-Protocol-Version", []string{"2025-11-25"}, false},
		{"version padded", "Mcp-Protocol-Version", []string{" 2026-07-28\t"}, true},
		{"version twice", "Mcp-Protocol-Version", []string{"2026-07-28", "2026-07-28"}, false},
		{"version empty", "Mcp-Protocol-Version", []string{""}, false},
		{"method missing", "Mcp-Method", nil, false},
		{"method differs", "Mcp-Method", []string{"tools/list"}, false},
		{"method in capitals", "Mcp-Method", []string{"TOOLS/CALL"}, false},
		{"method twice", "Mcp-Method", []string{"tools/call", "tools/call"}, false},
		{"method in Base64", "Mcp-Method", []string{encode("tools/call")}, false},
		{"name missing", "Mcp-Name", nil, false},
		{"name differs", "Mcp-Name", []string{"other"}, false},
		{"name in capitals", "Mcp-Name", []string{"ECHO"}, false},
		{"name padded", "Mcp-Name", []string{"  echo  "}, true},
		{"name twice", "Mcp-Name", []string{"echo", "echo"}, false},
		{"name in a list", "Mcp-Name", []string{"echo, echo"}, false},
		{"name in Base64", "Mcp-Name", []string{encode("echo")}, true},
		{"other name in Base64", "Mcp-Name", []string{encode("other")}, false},
		{"Base64 without padding", "Mcp-Name", []string{"=?base64?ZWNobw?="}, false},
		{"Base64 with junk", "Mcp-Name", []string{"=?base64?ZWN!!!obw==?="}, false},
		{"Base64 with loose bits", "Mcp-Name", []string{"=?base64?ZWNobx==?="}, false},
		{"markers in capitals", "Mcp-Name", []string{"=?BASE64?ZWNobw==?="}, false},
		{"invalid characters", "Mcp-Name", []string{"ech\xc3\xb6"}, false},
		{"control character", "Mcp-Name", []string{"ec\x01ho"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := strictPost()
			r.Header[tt.header] = tt.values
			if tt.want {
				assert.Equal(t, http.StatusOK, do(newHandler(t, okay, Config{}), r).Code)
				return
			}
			w := do(newHandler(t, unreachable(t), Config{}), r)
			assertError(t, w, http.StatusBadRequest, mcp.CodeHeaderMismatch, "1")
			assert.Contains(t, parse(t, w.Body.String()).Error.Message, "Header mismatch: "+tt.header+" ")
		})
	}
}

func TestNames(t *testing.T) {
	tests := []struct{ method, params, header string }{
		{"tools/call", `"name":"say \"hi\""`, `say "hi"`},
		{"tools/call", `"name":"größe"`, encode("größe")},
		{"tools/call", `"name":"\u00e9"`, encode("é")},
		{"tools/call", `"name":" padded "`, encode(" padded ")},
		{"tools/call", `"name":"a\nb"`, encode("a\nb")},
		{"tools/call", `"name":"a\tb"`, "a\tb"},
		{"tools/call", `"name":""`, ""},
		{"tools/call", `"name":""`, encode("")},
		{"tools/call", `"name":"=?base64?SGVsbG8="`, "=?base64?SGVsbG8="},
		{"tools/call", `"name":"=?base64?="`, "=?base64?="},
		{"tools/call", `"name":"=?base64?literal?="`, encode("=?base64?literal?=")},
		{"prompts/get", `"name":"greeting","uri":"x"`, "greeting"},
		{"prompts/get", `"name":"größe"`, encode("größe")},
		{"resources/read", `"uri":"file:///a%20b","name":"x"`, "file:///a%20b"},
		{"resources/read", `"uri":"file:///größe"`, encode("file:///größe")},
	}
	for _, tt := range tests {
		t.Run(tt.method+tt.params, func(t *testing.T) {
			r := namedPost(tt.method, tt.params, tt.header)
			assert.Equal(t, http.StatusOK, do(newHandler(t, okay, Config{}), r).Code)
			r = namedPost(tt.method, tt.params, tt.header+"x")
			assertError(t, do(newHandler(t, unreachable(t), Config{}), r), http.StatusBadRequest, mcp.CodeHeaderMismatch, "1")
		})
	}
}

// A value that no header may carry is refused even where the body has the same.
func TestNamesThatNeedEncoding(t *testing.T) {
	for params, name := range map[string]string{`"name":"größe"`: "größe", `"name":"a\u0001b"`: "a\x01b"} {
		w := do(newHandler(t, unreachable(t), Config{}), namedPost("tools/call", params, name))
		assertError(t, w, http.StatusBadRequest, mcp.CodeHeaderMismatch, "1")
		assert.Equal(t, http.StatusOK, do(newHandler(t, okay, Config{}), namedPost("tools/call", params, encode(name))).Code)
	}
}

// Where the body names nothing, the handler says what is wrong.
func TestNamesThatTheBodyLacks(t *testing.T) {
	refuse := func(err *jsonrpc.Error) mcp.HandlerFunc {
		return func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
			return mcp.ErrorResponse(req.ID, err)
		}
	}
	for _, params := range []string{`"x":1`, `"name":7`, `"name":null`, `"uri":"echo"`} {
		for _, header := range []string{"", "echo"} {
			w := do(newHandler(t, refuse(mcp.InvalidParams("name")), Config{}), namedPost("tools/call", params, header))
			assertError(t, w, http.StatusOK, jsonrpc.CodeInvalidParams, "1")
		}
	}
	r := namedPost("no/such", `"name":"echo"`, "")
	r.Header.Del("Mcp-Name")
	w := do(newHandler(t, refuse(mcp.MethodNotFound("no/such")), Config{}), r)
	assertError(t, w, http.StatusNotFound, jsonrpc.CodeMethodNotFound, "1")
}

func TestMethodsWithoutNameNeedNoNameHeader(t *testing.T) {
	r := namedPost("tools/list", `"cursor":"x"`, "")
	r.Header.Del("Mcp-Name")
	assert.Equal(t, http.StatusOK, do(newHandler(t, okay, Config{}), r).Code)
}

func namedPost(method, params, name string) *http.Request {
	r := post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,`+meta+`}}`)
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	r.Header.Set("Mcp-Name", name)
	return r
}

func encode(s string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// The headers that mirror arguments go along with the request, which alone has
// them compared.
func TestParamHeadersAreTaken(t *testing.T) {
	got := func(t *testing.T, r *http.Request) (req *mcp.Request) {
		w := do(newHandler(t, func(ctx context.Context, in *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			req = in
			return okay(ctx, in, notify)
		}, Config{}), r)
		assert.Equal(t, http.StatusOK, w.Code)
		return req
	}
	req := got(t, strictPost())
	assert.True(t, req.Mirrored)
	assert.Nil(t, req.ParamHeaders)

	r := strictPost()
	r.Header.Set("MCP-PARAM-Region", "us-west1")
	r.Header["Mcp-Param-Dry-Run"] = []string{"true", "false"}
	r.Header.Set("Mcp-Parameter", "x")
	assert.Equal(t, mcp.ParamHeaders{"region": {"us-west1"}, "dry-run": {"true", "false"}}, got(t, r).ParamHeaders)

	r = namedPost("prompts/get", `"name":"p"`, "p")
	r.Header.Set("Mcp-Param-Region", "us-west1")
	assert.Nil(t, got(t, r).ParamHeaders, "only tools have such arguments")

	r = post("/rpc", callEcho)
	r.Header.Set("Mcp-Param-Region", "us-west1")
	req = got(t, r)
	assert.False(t, req.Mirrored, "callers of the contract know of no headers")
	assert.Nil(t, req.ParamHeaders)
}

func TestParamHeadersAreBounded(t *testing.T) {
	many, long := strictPost(), strictPost()
	for i := range mcp.MaxParamHeaders {
		many.Header.Set(fmt.Sprintf("Mcp-Param-%d", i), "x")
	}
	long.Header.Set("Mcp-Param-A", strings.Repeat("x", maxParamsBytes-1))
	for _, r := range []*http.Request{many, long} {
		assert.Equal(t, http.StatusOK, do(newHandler(t, okay, Config{}), r).Code)
		r = r.Clone(t.Context())
		r.Body = strictPost().Body
		r.Header.Set("Mcp-Param-B", "x")
		w := do(newHandler(t, unreachable(t), Config{}), r)
		assertError(t, w, http.StatusRequestHeaderFieldsTooLarge, jsonrpc.CodeInvalidRequest, "1")
	}
}
