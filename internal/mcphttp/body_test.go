package mcphttp

import (
	"context"
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
	claimed := newMemory(2 << 20).claim()
	buf, err := readAtMost(strings.NewReader(callEcho), nil, 1<<29, 1<<30, &claimed)
	require.NoError(t, err)
	assert.Equal(t, callEcho, string(buf))
	assert.LessOrEqual(t, cap(buf), firstBuffer)

	body := &spaces{n: 1 << 20}
	buf, err = readAtMost(body, nil, -1, 1<<20, &claimed)
	require.NoError(t, err)
	assert.LessOrEqual(t, cap(buf), 1<<20+1+8<<10, "one more than the limit, and what the allocator rounds up")
}

// What the handler does not take is not read either.
func TestLimitOfTheHandler(t *testing.T) {
	for limit, want := range map[int64]string{0: `{"limitBytes":2000}`, 1000: `{"limitBytes":1000}`, 3000: `{"limitBytes":2000}`} {
		h := newHandler(t, unreachable(t), Config{MaxBody: 2000, MaxRequest: func() int64 { return limit }})
		body := &spaces{n: 2001}
		r := post("/mcp", "")
		r.Body, r.ContentLength = io.NopCloser(body), body.n
		w := do(h, r)
		assertError(t, w, http.StatusRequestEntityTooLarge, mcp.CodeMessageTooLarge, "")
		assert.JSONEq(t, want, string(parse(t, w.Body.String()).Error.Data))
		assert.Zero(t, body.read)
	}
}

func TestBodiesAreBoundedTogether(t *testing.T) {
	const limit = 600 << 10
	h := newHandler(t, okay, Config{MaxBody: limit, MaxBodies: limit + 1})
	large := callEcho + strings.Repeat(" ", limit-len(callEcho))
	body, client := io.Pipe()
	r := post("/rpc", "")
	r.Body, r.ContentLength = body, -1
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- do(h, r) }()
	_, err := io.WriteString(client, large) // and goes on
	require.NoError(t, err)

	w := do(h, post("/rpc", large))
	assertError(t, w, http.StatusServiceUnavailable, mcp.CodeOverloaded, "")
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	assert.Equal(t, http.StatusOK, do(h, post("/rpc", callEcho)).Code, "there is always room for what is small")

	require.NoError(t, client.Close())
	assert.Equal(t, http.StatusOK, (<-first).Code)
	assert.Equal(t, http.StatusOK, do(h, post("/rpc", large)).Code)
	assert.True(t, h.memory.bodies.TryAcquire(limit+1), "nothing is left claimed")
}

// A body gives its memory back when it is parsed, not when it is answered.
func TestParsedBodiesGiveTheirMemoryBack(t *testing.T) {
	const limit = 600 << 10
	var h *Handler
	h = newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		assert.True(t, h.memory.bodies.TryAcquire(limit+1))
		assert.True(t, h.memory.parsing.TryAcquire(maxParsing))
		return okay(ctx, req, notify)
	}, Config{MaxBody: limit, MaxBodies: limit + 1})
	assert.Equal(t, http.StatusOK, do(h, post("/rpc", callEcho+strings.Repeat(" ", limit-len(callEcho)))).Code)
}

// A large body waits for others to be parsed, and not for longer than its client.
func TestLargeBodiesAreParsedInTurn(t *testing.T) {
	h := newHandler(t, unreachable(t), Config{})
	require.True(t, h.memory.parsing.TryAcquire(maxParsing))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	w := do(h, post("/rpc", callEcho+strings.Repeat(" ", 600<<10)).WithContext(ctx))
	assertError(t, w, http.StatusServiceUnavailable, mcp.CodeOverloaded, "")
	assert.True(t, h.memory.bodies.TryAcquire(64<<20), "nothing is left claimed")
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
