package mcphttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`

// notifying answers after one notification.
func notifying(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	notify([]byte(progress))
	return okay(ctx, req, notify)
}

func assertStream(t *testing.T, header http.Header) {
	t.Helper()
	assert.Equal(t, "text/event-stream", header.Get("Content-Type"))
	assert.Equal(t, "no-cache, no-transform", header.Get("Cache-Control"))
	assert.Equal(t, "no", header.Get("X-Accel-Buffering"))
	assert.Empty(t, header.Get("Content-Length"))
}

func TestNotificationsMakeAStream(t *testing.T) {
	for _, path := range []string{"/mcp", "/rpc"} {
		r := strictPost()
		r.URL.Path = path
		w := do(newHandler(t, notifying, Config{}), r)
		assert.Equal(t, http.StatusOK, w.Code)
		assertStream(t, w.Header())
		assert.True(t, w.Flushed)
		assert.Equal(t, "data: "+progress+"\n\ndata: "+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n", w.Body.String())
	}
}

func TestErrorsAfterANotificationStayInTheStream(t *testing.T) {
	w := do(newHandler(t, func(_ context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		notify([]byte(progress))
		return mcp.ErrorResponse(req.ID, mcp.Overloaded(time.Second))
	}, Config{}), strictPost())
	assert.Equal(t, http.StatusOK, w.Code)
	assertStream(t, w.Header())
	assert.Empty(t, w.Header().Get("Retry-After"))
	_, last, _ := strings.Cut(w.Body.String(), "\n\n")
	assert.Equal(t, mcp.CodeOverloaded, parse(t, strings.TrimPrefix(last, "data: ")).Error.Code)
}

func TestClientsThatTakeOnlyOneForm(t *testing.T) {
	t.Run("JSON", func(t *testing.T) {
		r := strictPost()
		r.Header.Set("Accept", "application/json")
		w := do(newHandler(t, notifying, Config{}), r)
		assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
		assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, w.Body.String())
	})
	t.Run("events", func(t *testing.T) {
		r := strictPost()
		r.Header.Set("Accept", "text/event-stream")
		w := do(newHandler(t, okay, Config{}), r)
		assertStream(t, w.Header())
		assert.Equal(t, "data: "+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n", w.Body.String())
	})
	t.Run("events, and an error", func(t *testing.T) {
		r := strictPost()
		r.Header.Set("Accept", "text/event-stream")
		w := do(newHandler(t, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
			return mcp.ErrorResponse(req.ID, mcp.MethodNotFound("x"))
		}, Config{}), r)
		assertError(t, w, http.StatusNotFound, jsonrpc.CodeMethodNotFound, "1")
	})
}

func TestNotificationsArriveBeforeTheResponse(t *testing.T) {
	read := make(chan struct{})
	server := httptest.NewServer(newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		notify([]byte(progress))
		<-read
		return okay(ctx, req, notify)
	}, Config{}))
	defer server.Close()
	res, err := server.Client().Post(server.URL+"/rpc", "application/json", strings.NewReader(callEcho))
	require.NoError(t, err)
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "data: "+progress+"\n", line)
	close(read)
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.Equal(t, "\ndata: "+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n", string(rest))
}

func TestConcurrentNotifications(t *testing.T) {
	const goroutines, each = 8, 50
	server := httptest.NewServer(newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		var group sync.WaitGroup
		for g := range goroutines {
			group.Go(func() {
				for i := range each {
					notify(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%d","params":%d}`, g, i))
				}
			})
		}
		group.Wait()
		return okay(ctx, req, notify)
	}, Config{}))
	defer server.Close()
	res, err := server.Client().Post(server.URL+"/rpc", "application/json", strings.NewReader(callEcho))
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)

	events := strings.Split(strings.TrimSuffix(string(body), "\n\n"), "\n\n")
	require.Len(t, events, goroutines*each+1)
	next := map[string]int{}
	for _, e := range events[:goroutines*each] {
		m := parse(t, strings.TrimPrefix(e, "data: "))
		assert.Equal(t, fmt.Sprint(next[m.Method]), string(m.Params), "those of one goroutine keep their order")
		next[m.Method]++
	}
	assert.Equal(t, "1", string(parse(t, strings.TrimPrefix(events[goroutines*each], "data: ")).ID))
}

func TestNothingIsWrittenAfterTheResponse(t *testing.T) {
	var late mcp.NotifyFunc
	h := newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		late = notify
		return notifying(ctx, req, notify)
	}, Config{})
	w := do(h, strictPost())
	body := w.Body.String()
	late([]byte(progress))
	assert.Equal(t, body, w.Body.String())
}

func TestSilenceIsFilledWithComments(t *testing.T) {
	for _, r := range []*http.Request{strictPost(), listenPost("/mcp", "text/event-stream")} {
		t.Run(r.Header.Get("Mcp-Method"), func(t *testing.T) { testSilence(t, r) })
	}
}

func testSilence(t *testing.T, r *http.Request) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := do(newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			<-time.After(25 * time.Second) // two comments
			notify([]byte(progress))
			<-time.After(19 * time.Second) // one
			return okay(ctx, req, notify)
		}, Config{KeepAlive: 10 * time.Second}), r)
		assert.Equal(t, 44*time.Second, time.Since(start))
		assertStream(t, w.Header())
		assert.Equal(t, ":\n\n:\n\ndata: "+progress+"\n\n:\n\ndata: "+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n", w.Body.String())
	})
}

func TestNoCommentsForClientsOfJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := strictPost()
		r.Header.Set("Accept", "application/json")
		w := do(newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			<-time.After(time.Hour)
			return okay(ctx, req, notify)
		}, Config{}), r)
		assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, w.Body.String())
	})
}

// The deadlines for bodies and for writes are not deadlines for the request,
// nor for the next one on the same connection.
func TestLongCallsOutliveTheDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			notify([]byte(progress))
			select {
			case <-ctx.Done():
				t.Error("the context has ended: ", context.Cause(ctx))
			case <-time.After(55 * time.Minute):
			}
			return okay(ctx, req, notify)
		}, Config{KeepAlive: 10 * time.Minute}))
		for range 2 {
			r := post("/rpc", callEcho)
			c.send(t, r)
			body, err := io.ReadAll(c.receive(t).Body)
			require.NoError(t, err)
			assert.Contains(t, string(body), `"result"`)
			assert.Equal(t, 5, strings.Count(string(body), ":\n\n"))
			<-time.After(time.Minute)
		}
	})
}

func TestClientThatDisconnectsCancels(t *testing.T) {
	for _, opened := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%t", opened), func(t *testing.T) {
			started := make(chan struct{})
			cause := make(chan error, 1)
			server := httptest.NewServer(newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
				if opened {
					notify([]byte(progress))
				}
				close(started)
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return okay(ctx, req, notify)
			}, Config{}))
			defer server.Close()

			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/rpc", strings.NewReader(callEcho))
			require.NoError(t, err)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if res, err := server.Client().Do(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			}()
			<-started
			cancel()
			assert.Equal(t, context.Canceled, <-cause)
			<-done
		})
	}
}

func TestNothingIsSentToAClientThatIsGone(t *testing.T) {
	for _, opened := range []bool{false, true} {
		ctx, disconnect := context.WithCancel(t.Context())
		w := do(newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			if opened {
				notify([]byte(progress))
			}
			disconnect()
			notify([]byte(progress))
			return okay(ctx, req, notify)
		}, Config{}), strictPost().WithContext(ctx))
		if opened {
			assert.Equal(t, "data: "+progress+"\n\n", w.Body.String())
		} else {
			assert.Equal(t, http.StatusGatewayTimeout, w.Code, "503 would say that nothing was started")
			assert.Empty(t, w.Body.String())
		}
	}
}

func TestClientThatStopsReadingIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := make(chan error, 1)
		c := connect(t, newHandler(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			for ctx.Err() == nil {
				notify([]byte(progress))
			}
			cause <- context.Cause(ctx)
			return okay(ctx, req, notify)
		}, Config{WriteTimeout: 20 * time.Second}))
		start := time.Now()
		c.send(t, post("/rpc", callEcho))
		got := <-cause
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.True(t, errors.Is(got, os.ErrDeadlineExceeded) || errors.Is(got, context.Canceled), "%v", got)
	})
}

// A response that nobody reads must not hold its connection either.
func TestUnreadResponseTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := make(chan struct{})
		inner := newHandler(t, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
			return mcp.ResultResponse(req.ID, []byte(`{"text":"`+strings.Repeat("x", 1<<20)+`"}`))
		}, Config{WriteTimeout: 20 * time.Second})
		c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(returned)
			inner.ServeHTTP(w, r)
		}))
		start := time.Now()
		c.send(t, post("/rpc", callEcho))
		<-returned
		assert.Equal(t, 20*time.Second, time.Since(start))
	})
}
