package mcpstdio

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// okay answers every request with an empty result.
func okay(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
	return mcp.ResultResponse(req.ID, []byte(`{}`))
}

func request(id string) string  { return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call"}` }
func response(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

func newServer(h mcp.HandlerFunc, in io.Reader, out io.Writer, cfg Config) *Server {
	return New(h, in, out, cfg, slog.New(slog.DiscardHandler))
}

// answers returns the lines that a server with the handler h writes for input.
func answers(t testing.TB, h mcp.HandlerFunc, cfg Config, input string) []string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, newServer(h, strings.NewReader(input), &out, cfg).Run(t.Context()))
	return lines(t, out.String())
}

func lines(t testing.TB, out string) []string {
	t.Helper()
	if out == "" {
		return nil
	}
	require.True(t, strings.HasSuffix(out, "\n"), "the last line ends too: %q", out)
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

type message struct {
	ID     jsontext.Value `json:"id"`
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Code int            `json:"code"`
		Data jsontext.Value `json:"data"`
	} `json:"error"`
}

func parse(t testing.TB, line string) (m message) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(line), &m), "line %q", line)
	return m
}

// assertError checks that line is an error. An empty id means none.
func assertError(t *testing.T, line string, code int, id string) {
	t.Helper()
	m := parse(t, line)
	require.NotNil(t, m.Error, "line %q", line)
	assert.Equal(t, code, m.Error.Code)
	assert.Equal(t, id, string(m.ID))
}

// A host is the other end of a server's streams.
type host struct {
	in   *io.PipeWriter
	out  *bufio.Reader
	stop context.CancelFunc
	done chan error // has what Run returned
}

func launch(t *testing.T, h mcp.HandlerFunc, cfg Config) *host {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	c := &host{in: inWrite, out: bufio.NewReader(outRead), stop: stop, done: make(chan error, 1)}
	go func() {
		c.done <- newServer(h, inRead, outWrite, cfg).Run(ctx)
		_ = outWrite.Close()
	}()
	t.Cleanup(func() {
		stop()
		_ = inWrite.Close()
		_ = outRead.Close()
	})
	return c
}

func (c *host) send(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(t, err)
}

func (c *host) receive(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\n")
}

// end closes the server's input and returns what it still writes.
func (c *host) end(t *testing.T) string {
	t.Helper()
	require.NoError(t, c.in.Close())
	rest, err := io.ReadAll(c.out)
	require.NoError(t, err)
	assert.NoError(t, <-c.done)
	return string(rest)
}
