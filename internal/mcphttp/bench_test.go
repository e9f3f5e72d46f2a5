package mcphttp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// sink is a ResponseWriter that costs nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Flush()                      {}

func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// posts returns the handler at work on one request to that door.
func posts(t testing.TB, door string) func() {
	t.Helper()
	res := mcp.ResultResponse("1", []byte(`{}`))
	h := newHandler(t, func(context.Context, *mcp.Request, mcp.NotifyFunc) *mcp.Response { return res }, Config{})
	r := strictPost()
	r.URL.Path = "/" + door
	body := strings.NewReader(callEcho)
	r.Body = io.NopCloser(body)
	w := &sink{header: http.Header{}}
	return func() {
		body.Reset(callEcho)
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

func BenchmarkPost(b *testing.B) {
	for _, door := range []string{"mcp", "rpc"} {
		b.Run(door, func(b *testing.B) {
			post := posts(b, door)
			b.ReportAllocs()
			for b.Loop() {
				post()
			}
		})
	}
}
