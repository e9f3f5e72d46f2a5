package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host runs an ingress with -stdio as its subprocess.
type host struct {
	*program
	in   io.WriteCloser
	read int // bytes of the standard output that have been looked at
}

func startHost(t testing.TB, flags ...string) *host {
	t.Helper()
	cmd := binary(t, "ingress", append([]string{"-local", "-stdio"}, flags...)...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	return &host{program: launch(t, cmd), in: in}
}

func (h *host) write(t testing.TB, messages ...string) {
	t.Helper()
	_, err := io.WriteString(h.in, strings.Join(messages, "\n")+"\n")
	require.NoError(t, err)
}

// A message has the members of messages by which a host tells them apart.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code int `json:"code"`
	} `json:"error"`
}

// next returns the next message; ok is false at the end. Whatever else is on the
// standard output fails the test.
func (h *host) next(t testing.TB) (m message, ok bool) {
	t.Helper()
	line, ok := h.line(t)
	if !ok {
		return m, false
	}
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	require.Equal(t, "2.0", m.Version)
	return m, true
}

// line waits for the next line of the standard output.
func (h *host) line(t testing.TB) (line string, ok bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		text, grown := h.Stdout.Snapshot()
		if line, _, ok := strings.Cut(text[h.read:], "\n"); ok {
			h.read += len(line) + 1
			return line, true
		}
		select {
		case <-grown:
		case <-h.Done():
			if h.Stdout.String() == text {
				require.Empty(t, text[h.read:], "half a line")
				return "", false
			}
		case <-timeout:
			require.FailNow(t, "no message")
		}
	}
}

// line returns a request of the strict profile.
func line(id int, method, members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, join(meta, members))
}

func TestStdio(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	h.write(t, line(1, "server/discover", ""))
	m, ok := h.next(t)
	require.True(t, ok)
	assert.Equal(t, "1", string(m.ID))
	assert.Contains(t, string(m.Result), `"supportedVersions":["2026-07-28"]`)

	h.write(t, `{"jsonrpc":`, `{"jsonrpc":"2.0","id":2,"method":"tools/burn","params":{`+meta+`}}`)
	codes := make(map[string]int) // by id; answers come in any order
	for range 2 {
		m, ok = h.next(t)
		require.True(t, ok)
		require.NotNil(t, m.Error)
		codes[string(m.ID)] = m.Error.Code
	}
	assert.Equal(t, map[string]int{"": -32700, "2": -32601}, codes)

	// The input ends while two calls are in flight: both are answered.
	h.write(t, line(3, "tools/call", `"name":"slow","arguments":{"seconds":0.5}`), line(4, "tools/call", `"name":"echo","arguments":{"text":"x"}`))
	require.NoError(t, h.in.Close())
	answered := make(map[string]bool)
	for m, ok := h.next(t); ok; m, ok = h.next(t) {
		if m.Method == "" {
			answered[string(m.ID)] = m.Result != nil
		} else {
			assert.Equal(t, "notifications/progress", m.Method)
		}
	}
	assert.Equal(t, map[string]bool{"3": true, "4": true}, answered)
	assert.Zero(t, h.exitCode(t))
	assert.Contains(t, h.Stderr.String(), "MCP on standard input and output")
}

// With one slot, a call can only be answered when the one before has given its
// slot back.
func TestStdioCancel(t *testing.T) {
	t.Parallel()
	h := startHost(t, "-slots", "1")
	h.write(t, line(1, "tools/call", `"name":"slow","arguments":`+endlessArguments))
	m, ok := h.next(t)
	require.True(t, ok)
	require.Equal(t, "notifications/progress", m.Method)
	h.write(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		line(2, "tools/call", `"name":"echo","arguments":{"text":"x"}`))
	for m.Method != "" { // progress that was on its way
		m, ok = h.next(t)
		require.True(t, ok)
	}
	assert.Equal(t, "2", string(m.ID))
	assert.NotNil(t, m.Result)
	require.NoError(t, h.in.Close())
	_, ok = h.next(t)
	assert.False(t, ok, "a cancelled request has no response")
	assert.Zero(t, h.exitCode(t))
}

// A host may also end it with a signal, while the input is still open.
func TestStdioSignal(t *testing.T) {
	t.Parallel()
	h := startHost(t)
	h.write(t, line(1, "tools/list", ""))
	_, ok := h.next(t)
	require.True(t, ok)
	h.write(t, line(2, "tools/call", `"name":"slow","arguments":{"seconds":1}`))
	m, ok := h.next(t)
	require.True(t, ok)
	require.Equal(t, "notifications/progress", m.Method)
	h.Terminate()
	for m.Method != "" {
		m, ok = h.next(t)
		require.True(t, ok, "what is in flight is answered")
	}
	assert.Equal(t, "2", string(m.ID))
	assert.NotNil(t, m.Result)
	assert.Zero(t, h.exitCode(t))
}
