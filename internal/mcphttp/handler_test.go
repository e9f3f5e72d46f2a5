package mcphttp

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestPathsChooseProfileAndPool(t *testing.T) {
	long := strings.Repeat("p", 64)
	tests := []struct {
		path    string
		profile mcp.Profile
		pool    string
	}{
		{"/mcp", mcp.Strict, "main"},
		{"/mcp?x=y", mcp.Strict, "main"},
		{"/mcp/Other_pool-2", mcp.Strict, "Other_pool-2"},
		{"/mcp/" + long, mcp.Strict, long},
		{"/rpc", mcp.Contract, "main"},
		{"/rpc/other", mcp.Contract, "other"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			var got *mcp.Request
			h := newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
				got = req
				return okay(ctx, req, notify)
			}, Config{Pool: "main"})
			r := strictPost()
			r.URL.Path, r.URL.RawQuery, _ = strings.Cut(tt.path, "?")

			w := do(h, r)

			assert.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, w.Body.String())
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			require.NotNil(t, got)
			assert.Equal(t, tt.profile, got.Profile)
			assert.Equal(t, tt.pool, got.Pool)
			assert.Empty(t, got.Principal)
			assert.Equal(t, "tools/call", got.Method)
		})
	}
}

func TestUnknownPaths(t *testing.T) {
	h := newHandler(t, unreachable(t), Config{})
	for _, path := range []string{
		"/", "/mcp/", "/rpc/", "/mcpx", "/rpcx", "/mcp/a/b", "/mcp//", "/mcp/a.b", "/mcp/ä", "/mcp/a%20b",
		"/MCP", "/sse", "/mcp/" + strings.Repeat("p", 65),
	} {
		t.Run(path, func(t *testing.T) {
			w := do(h, post(path, callEcho))
			assert.Equal(t, http.StatusNotFound, w.Code)
			assert.Contains(t, w.Body.String(), "MCP is at /mcp", "and no JSON-RPC error, which would say that there is an endpoint")
		})
	}
}

func TestOnlyPostIsAllowed(t *testing.T) {
	h := newHandler(t, unreachable(t), Config{})
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS", "PATCH"} {
		for _, path := range []string{"/mcp", "/rpc/pool"} {
			t.Run(method+path, func(t *testing.T) {
				r := post(path, "")
				r.Method = method
				w := do(h, r)
				assertError(t, w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "")
				assert.Equal(t, "POST", w.Header().Get("Allow"))
			})
		}
	}
}

// The earlier a check comes, the later it is mended in this list: each step
// repairs one fault of a request that has all of them.
func TestOrderOfChecks(t *testing.T) {
	h := newHandler(t, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ErrorResponse(req.ID, mcp.InvalidParams("from the handler"))
	}, Config{MaxBody: 1 << 10})
	r := post("/mcp", "")
	r.Host = "evil.example"
	r.Header.Set("Origin", "https://evil.example")
	r.Method = http.MethodGet
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("Accept", "text/html")
	body := strings.Repeat(" ", 1<<11)

	const begin = `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo",`
	steps := []struct {
		name   string
		mend   func()
		status int
		code   int
		id     string
	}{
		{"host", func() {}, 403, jsonrpc.CodeInvalidRequest, ""},
		{"origin", func() { r.Host = "localhost" }, 403, jsonrpc.CodeInvalidRequest, ""},
		{"method", func() { r.Header.Set("Origin", "http://localhost:3000") }, 405, jsonrpc.CodeInvalidRequest, ""},
		{"content type", func() { r.Method = http.MethodPost }, 415, jsonrpc.CodeInvalidRequest, ""},
		{"accept", func() { r.Header.Set("Content-Type", "application/json") }, 406, jsonrpc.CodeInvalidRequest, ""},
		{"size", func() { r.Header.Set("Accept", "*/*") }, 413, mcp.CodeMessageTooLarge, ""},
		{"syntax", func() { body = `{"id":"x",]` }, 400, jsonrpc.CodeParseError, `"x"`},
		{"envelope", func() { body = `{"jsonrpc":"1.0","id":"x","method":"initialize"}` }, 400, jsonrpc.CodeInvalidRequest, `"x"`},
		{"initialize", func() { body = `{"jsonrpc":"2.0","id":"x","method":"initialize"}` }, 404, jsonrpc.CodeMethodNotFound, `"x"`},
		{"metadata", func() { body = begin + `"_meta":{}}}` }, 400, jsonrpc.CodeInvalidParams, `"x"`},
		{"version header", func() {
			body = begin + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`
		}, 400, mcp.CodeHeaderMismatch, `"x"`},
		{"version", func() { r.Header.Set("MCP-Protocol-Version", "2099-01-01") }, 400, mcp.CodeUnsupportedVersion, `"x"`},
		{"method header", func() {
			r.Header.Set("MCP-Protocol-Version", "2026-07-28")
			body = begin + meta + `}}`
		}, 400, mcp.CodeHeaderMismatch, `"x"`},
		{"name header", func() { r.Header.Set("Mcp-Method", "tools/call") }, 400, mcp.CodeHeaderMismatch, `"x"`},
		{"handler", func() { r.Header.Set("Mcp-Name", "echo") }, 200, jsonrpc.CodeInvalidParams, `"x"`},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			step.mend()
			again := post("/mcp", body)
			again.Host, again.Header, again.Method = r.Host, r.Header, r.Method
			assertError(t, do(h, again), step.status, step.code, step.id)
		})
	}
}

func TestUnsupportedVersionListsTheSupportedOnes(t *testing.T) {
	h := newHandler(t, unreachable(t), Config{})
	r := strictPost()
	old := post("/mcp", strings.Replace(callEcho, "2026-07-28", "2025-11-25", 1))
	old.Header = r.Header
	old.Header.Set("MCP-Protocol-Version", "2025-11-25")
	w := do(h, old)
	assertError(t, w, http.StatusBadRequest, mcp.CodeUnsupportedVersion, "1")
	assert.JSONEq(t, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`, string(parse(t, w.Body.String()).Error.Data))
}

func TestContractChecksNoMetadata(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"protocolVersion":"1999-01-01"}}}`,
	} {
		w := do(newHandler(t, okay, Config{}), post("/rpc", body))
		assert.Equal(t, http.StatusOK, w.Code, body)
		assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, w.Body.String())
	}
	r := post("/rpc", `[]`)
	assertError(t, do(newHandler(t, unreachable(t), Config{}), r), 400, jsonrpc.CodeInvalidRequest, "")
}

func TestNotificationsAreAcceptedAndGoNowhere(t *testing.T) {
	h := newHandler(t, unreachable(t), Config{})
	for _, path := range []string{"/mcp", "/rpc"} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			`{"jsonrpc":"2.0","method":"tools/call"}`,
			`{"jsonrpc":"2.0","method":"initialize"}`,
		} {
			w := do(h, post(path, body))
			assert.Equal(t, http.StatusAccepted, w.Code, body)
			assert.Empty(t, w.Body.String())
			assert.Empty(t, w.Header().Get("Content-Type"))
		}
	}
	w := do(h, post("/mcp", `{"jsonrpc":"2.0","method":3}`))
	assertError(t, w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "")
}

func TestIDsAreEchoedByteForByte(t *testing.T) {
	h := newHandler(t, okay, Config{})
	for _, id := range []string{`0`, `-7`, `9007199254740993`, `"1"`, `""`, `"a\/\u00e9"`, `"é"`} {
		w := do(h, post("/rpc", `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list"}`))
		assert.Equal(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`, w.Body.String())
		w = do(h, post("/mcp", `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list"}`))
		assert.Equal(t, id, string(parse(t, w.Body.String()).ID))
	}
}

// Neither kind of answer differs from that to a request without such headers.
func TestSessionsOfEarlierRevisionsAreIgnored(t *testing.T) {
	for _, handler := range []mcp.HandlerFunc{okay, notifying} {
		want := do(newHandler(t, handler, Config{}), strictPost())
		r := strictPost()
		r.Header.Set("Mcp-Session-Id", "abc")
		r.Header.Set("Last-Event-ID", "42")
		w := do(newHandler(t, handler, Config{}), r)
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, want.Header(), w.Header())
		assert.Equal(t, want.Body.String(), w.Body.String())
		assert.NotContains(t, w.Header(), "Mcp-Session-Id", "none is minted")
	}
}

// A connection is not a session: what a request lacks is not taken from the one
// before it.
//
// Spec: MCP 2026-07-28, Base Protocol, Statelessness.
func TestNothingIsTakenFromEarlierRequests(t *testing.T) {
	c := connect(t, newHandler(t, okay, Config{}))
	noMeta := post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
	noVersion := strictPost()
	noMeta.Header = noVersion.Header.Clone()
	noVersion.Header.Del("MCP-Protocol-Version")
	for _, tt := range []struct {
		lacking *http.Request
		code    int
	}{{noMeta, jsonrpc.CodeInvalidParams}, {noVersion, mcp.CodeHeaderMismatch}} {
		status, m := c.exchange(t, strictPost())
		assert.Equal(t, http.StatusOK, status)
		assert.Zero(t, m.Error.Code)
		status, m = c.exchange(t, tt.lacking)
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Equal(t, tt.code, m.Error.Code)
	}
}

func TestLogHasNoContent(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, err := New(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ErrorResponse(req.ID, mcp.Overloaded(time.Second))
	}), Config{}, log)
	require.NoError(t, err)
	do(h, post("/rpc", `{"jsonrpc":"2.0","id":"secret","method":"secret","params":{"secret":"secret"}}`))
	assert.Equal(t, 1, strings.Count(logged.String(), "\n"))
	assert.Contains(t, logged.String(), `"status":503,"code":-31001`)
	assert.NotContains(t, logged.String(), "secret")
}

func TestPanicsEndOnlyTheirRequest(t *testing.T) {
	h := newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if req.ID == "1" {
			panic(http.ErrAbortHandler) // the one panic that net/http does not log
		}
		return okay(ctx, req, notify)
	}, Config{})
	server := httptest.NewServer(h)
	defer server.Close()
	_, err := server.Client().Post(server.URL+"/rpc", "application/json", strings.NewReader(callEcho))
	require.Error(t, err)
	res, err := server.Client().Post(server.URL+"/rpc", "application/json", strings.NewReader(strings.Replace(callEcho, ":1,", ":2,", 1)))
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, http.StatusOK, res.StatusCode)
}

func TestNewReportsEverythingWrong(t *testing.T) {
	_, err := New(mcp.HandlerFunc(okay), Config{
		Pool:           "a b",
		MaxBody:        -1,
		AllowedHosts:   []string{"*", "ok.example", "ok.example:80", "[fd00::1]:80", "bad/path", ""},
		AllowedOrigins: []string{"*", "https://ok.example", "vscode-webview://x", "bad.example", "https://bad.example/", "null"},
		KeepAlive:      -1,
		BodyTimeout:    -1,
		WriteTimeout:   -1,
	}, slog.New(slog.DiscardHandler))
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	assert.Len(t, lines, 10, "%s", err)
	for i, start := range []string{
		"pool", "largest body", "keep-alive", "body timeout", "write timeout",
		`allowed host "bad/path"`, `allowed host ""`,
		`allowed origin "bad.example"`, `allowed origin "https://bad.example/"`, `allowed origin "null"`,
	} {
		assert.Contains(t, lines[i], start)
	}
}
