package mcphttp

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// callEcho is a complete strict request, which strictPost gives its headers.
const callEcho = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},` + meta + `}}`

// okay answers every request with an empty result.
func okay(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
	return mcp.ResultResponse(req.ID, []byte(`{}`))
}

// unreachable fails the test when a request gets to the handler.
func unreachable(t *testing.T) mcp.HandlerFunc {
	return func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		t.Errorf("the handler got a %s request", req.Method)
		return mcp.ResultResponse(req.ID, []byte(`{}`))
	}
}

func newHandler(t testing.TB, next mcp.HandlerFunc, cfg Config) *Handler {
	t.Helper()
	h, err := New(next, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return h
}

// post returns a request that passes all checks before its body.
func post(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "localhost:8080"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// strictPost returns the request callEcho with all of its headers.
func strictPost() *http.Request {
	r := post("/mcp", callEcho)
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", "echo")
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

type message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	} `json:"error"`
}

func parse(t testing.TB, body string) (m message) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), &m), "body %q", body)
	require.Equal(t, "2.0", m.Version)
	return m
}

// assertError checks that w is a JSON-RPC error. An empty id means none.
func assertError(t *testing.T, w *httptest.ResponseRecorder, status, code int, id string) {
	t.Helper()
	assert.Equal(t, status, w.Code)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	m := parse(t, w.Body.String())
	assert.Equal(t, code, m.Error.Code, "message %q", m.Error.Message)
	assert.Equal(t, id, string(m.ID))
}

// A pipeNet is a network inside of one test: its connections block only in ways
// that synctest sees.
type pipeNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *pipeNet) Close() error   { n.once.Do(func() { close(n.closed) }); return nil }
func (n *pipeNet) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// A client is one connection to a server on a pipeNet.
type client struct {
	net.Conn
	in *bufio.Reader
}

// connect serves h the way NewServer does and returns a connection to it.
func connect(t *testing.T, h http.Handler) *client {
	t.Helper()
	network := &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := NewServer(h)
	done := make(chan error, 1)
	go func() { done <- server.Serve(network) }()
	here, there := net.Pipe()
	network.conns <- there
	t.Cleanup(func() {
		_ = here.Close()
		assert.NoError(t, server.Close())
		assert.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return &client{Conn: here, in: bufio.NewReader(here)}
}

func (c *client) send(t *testing.T, r *http.Request) {
	t.Helper()
	require.NoError(t, r.Write(c))
}

func (c *client) receive(t *testing.T) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	require.NoError(t, err)
	return res
}

// exchange sends r and reads the answer, one JSON object, to its end.
func (c *client) exchange(t *testing.T, r *http.Request) (status int, m message) {
	t.Helper()
	c.send(t, r)
	res := c.receive(t)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, parse(t, string(body))
}
