package mcphttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// spaces is a body of n bytes that counts how many are read.
type spaces struct{ n, read int64 }

func (s *spaces) Read(p []byte) (int, error) {
	n := min(int64(len(p)), s.n-s.read)
	for i := range p[:n] {
		p[i] = ' '
	}
	s.read += n
	if s.read == s.n {
		return int(n), io.EOF
	}
	return int(n), nil
}

func TestBodyLimit(t *testing.T) {
	const limit = 100 << 10
	fill := func(size int) string { return callEcho + strings.Repeat(" ", size-len(callEcho)) }
	h := newHandler(t, okay, Config{MaxBody: limit})
	for _, chunked := range []bool{false, true} {
		for _, size := range []int{limit - 1, limit, limit + 1, firstBuffer - 1, firstBuffer, firstBuffer + 1} {
			t.Run(fmt.Sprintf("chunked=%t/%d", chunked, size), func(t *testing.T) {
				r := post("/rpc", fill(size))
				if chunked {
					r.ContentLength = -1
				}
				w := do(h, r)
				if size <= limit {
					assert.Equal(t, http.StatusOK, w.Code)
					return
				}
				assertError(t, w, http.StatusRequestEntityTooLarge, mcp.CodeMessageTooLarge, "")
				assert.JSONEq(t, `{"limitBytes":102400}`, string(parse(t, w.Body.String()).Error.Data))
			})
		}
	}
}

func TestSmallLimitWithPooledBuffers(t *testing.T) {
	h := newHandler(t, okay, Config{MaxBody: int64(len(callEcho))})
	assert.Equal(t, http.StatusOK, do(h, post("/rpc", callEcho)).Code)
	r := post("/rpc", callEcho+" ")
	r.ContentLength = -1
	assertError(t, do(h, r), http.StatusRequestEntityTooLarge, mcp.CodeMessageTooLarge, "")
}

func TestHugeBodyIsNotRead(t *testing.T) {
	const limit, huge = 1 << 20, 100 << 20
	h := newHandler(t, unreachable(t), Config{MaxBody: limit})
	for _, tt := range []struct {
		name          string
		contentLength int64
		read          int64
	}{
		{"announced", huge, 0},
		{"chunked", -1, limit + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := &spaces{n: huge}
			r := post("/mcp", "")
			r.Body, r.ContentLength = io.NopCloser(body), tt.contentLength
			w := do(h, r)
			assertError(t, w, http.StatusRequestEntityTooLarge, mcp.CodeMessageTooLarge, "")
			assert.Equal(t, tt.read, body.read)
		})
	}
}

// A buffer only grows with what has come, whatever the Content-Length says.
func TestContentLengthBuysNoMemory(t *testing.T) {
	buf, err := readAtMost(strings.NewReader(callEcho), nil, 1<<29, 1<<30)
	require.NoError(t, err)
	assert.Equal(t, callEcho, string(buf))
	assert.LessOrEqual(t, cap(buf), firstBuffer)

	body := &spaces{n: 1 << 20}
	buf, err = readAtMost(body, nil, -1, 1<<20)
	require.NoError(t, err)
	assert.LessOrEqual(t, cap(buf), 1<<20+1+8<<10, "one more than the limit, and what the allocator rounds up")
}

func TestHugeBodyOverTheNetwork(t *testing.T) {
	h := newHandler(t, unreachable(t), Config{MaxBody: 1 << 20})
	server := httptest.NewServer(h)
	defer server.Close()
	body := &spaces{n: 100 << 20}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", body)
	require.NoError(t, err)
	r.ContentLength = body.n
	r.Header.Set("Expect", "100-continue")
	client := server.Client()
	client.Transport.(*http.Transport).ExpectContinueTimeout = time.Hour
	res, err := client.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
	assert.Zero(t, body.read, "it is refused before the client sends it")
}

func TestBrokenBodies(t *testing.T) {
	h := newHandler(t, unreachable(t), Config{})
	r := post("/mcp", "")
	assertError(t, do(h, r), http.StatusBadRequest, jsonrpc.CodeParseError, "")
	r = post("/mcp", "")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(callEcho), iotest.ErrReader(errors.New("broken"))))
	assertError(t, do(h, r), http.StatusBadRequest, jsonrpc.CodeParseError, "")
}

func TestSlowBodyTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, newHandler(t, unreachable(t), Config{BodyTimeout: 10 * time.Second}))
		start := time.Now()
		_, err := io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
		require.NoError(t, err)
		res := c.receive(t)
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.Equal(t, http.StatusRequestTimeout, res.StatusCode)
		_, _ = io.Copy(io.Discard, res.Body)
		_, err = c.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF, "the connection is closed")
	})
}

// The body of a refused request is read to its end by net/http, which must not
// take for ever either.
func TestSlowBodyOfARefusedRequestTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, newHandler(t, unreachable(t), Config{BodyTimeout: 10 * time.Second}))
		start := time.Now()
		_, err := io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n{")
		require.NoError(t, err)
		res := c.receive(t)
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.Equal(t, http.StatusForbidden, res.StatusCode)
		assert.True(t, res.Close)
	})
}
