package e2e

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/test/process"
)

// startLocal starts everything in this process, and returns who talks to it.
func startLocal(t testing.TB, flags ...string) (*caller, *program) {
	t.Helper()
	p := inProcess(t, "ingress", append([]string{"-local", "-http", "127.0.0.1:0", "-log-level", "DEBUG"}, flags...)...)
	return newCaller(t, p.says(t, process.SaysClients)), p
}

func TestMalformedMessages(t *testing.T) {
	t.Parallel()
	const noID = ""
	tests := []struct {
		name, body string
		code       int
		id         string // in the response, as JSON
	}{
		{"nothing", ``, -32700, noID},
		{"space", " \r\n\t", -32700, noID},
		{"half an object", `{"jsonrpc":"2.0","id":1,"method":"tools/list"`, -32700, `1`},
		{"text behind the object", `{"jsonrpc":"2.0","id":1,"method":"tools/list"} x`, -32700, `1`},
		{"two objects", `{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"a"}`, -32700, `1`},
		{"a byte order mark", "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"a"}`, -32700, noID},
		{"bytes that are no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, `1`},
		{"a comment", `{"jsonrpc":"2.0",/**/"id":1,"method":"a"}`, -32700, noID},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, -32700, `1`},
		{"a number", `7`, -32600, noID},
		{"a string", `"tools/list"`, -32600, noID},
		{"null", `null`, -32600, noID},
		{"an empty batch", `[]`, -32600, noID},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, -32600, noID},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, -32600, `1`},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, -32600, noID},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, -32600, noID},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, -32600, noID},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}`, -32600, noID},
		{"two methods", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`, -32600, `1`},
		{"names in another case", `{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}`, -32600, `1`},
		{"a method that is no string", `{"jsonrpc":"2.0","id":1,"method":[]}`, -32600, `1`},
		{"a version that is a number", `{"jsonrpc":2.0,"id":1,"method":"tools/list"}`, -32600, `1`},
		{"params by position", `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":[]}`, -32600, `"a"`},
		{"a large id", `{"jsonrpc":"2.0","id":9007199254740993,"method":7}`, -32600, `9007199254740993`},
		{"nested too deep", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`, -32600, `1`},
	}
	c, _ := startLocal(t)
	for _, path := range []string{"/mcp", "/rpc"} {
		for _, tt := range tests {
			t.Run(path+" "+tt.name, func(t *testing.T) {
				a := c.ask(t, post{path: path, body: tt.body})
				assert.Equal(t, http.StatusBadRequest, a.status)
				assert.Equal(t, tt.code, a.code(t), a.response())
				if tt.id == noID {
					assert.NotContains(t, a.response(), `"id"`)
				} else {
					assert.Contains(t, a.response(), fmt.Sprintf(`"id":%s,`, tt.id))
				}
			})
		}
	}
}

// A zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// It does not run in parallel: it measures what the process allocates.
func TestLargeBodiesCostLittle(t *testing.T) {
	const size, limit, most = 100 << 20, 512 << 10, 32 << 20 // bytes
	c, _ := startLocal(t, "-max-body", "512KiB")
	// The client cannot know how long a body of this type is, so it sends chunks
	// unless it is told.
	bodies := map[string]func(*http.Request){
		"in chunks":             func(*http.Request) {},
		"with a Content-Length": func(r *http.Request) { r.ContentLength = size },
	}
	for name, prepare := range bodies {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/mcp", io.LimitReader(zeros{}, size))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			prepare(req)
			res, err := c.http.Do(req)
			require.NoError(t, err)
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			runtime.ReadMemStats(&after)

			assert.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
			assert.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-31006,
				"message":"Message too large: the request is larger than the limit","data":{"limitBytes":%d}}}`, limit), string(body))
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most))
		})
	}
	text, err := c.ask(t, tool("echo", `{"text":"still here"}`)).text()
	require.NoError(t, err)
	assert.Equal(t, "still here", text)
}
