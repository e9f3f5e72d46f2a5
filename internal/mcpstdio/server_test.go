package mcpstdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestRequestsReachTheHandler(t *testing.T) {
	for configured, pool := range map[string]string{"": "default", "other": "other"} {
		var got *mcp.Request
		out := answers(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			got = req
			return okay(ctx, req, notify)
		}, Config{Pool: configured}, request(`"x"`)+"\n")
		assert.Equal(t, []string{response(`"x"`)}, out)
		assert.Equal(t, mcp.Strict, got.Profile)
		assert.Equal(t, pool, got.Pool)
		assert.Empty(t, got.Principal)
		assert.Equal(t, request(`"x"`), string(got.Raw))
	}
}

func TestIDsAreEchoedByteForByte(t *testing.T) {
	for _, id := range []string{`0`, `-7`, `9007199254740993`, `"1"`, `""`, `"a\/\u00e9"`, `"é"`} {
		assert.Equal(t, []string{response(id)}, answers(t, okay, Config{}, request(id)+"\n"))
	}
}

func TestBrokenMessages(t *testing.T) {
	tests := []struct {
		line string
		code int
		id   string
	}{
		{`x`, jsonrpc.CodeParseError, ""},
		{`{"id":1,"method":`, jsonrpc.CodeParseError, "1"},
		{request("1") + request("2"), jsonrpc.CodeParseError, "1"},
		{`[]`, jsonrpc.CodeInvalidRequest, ""},
		{`{"jsonrpc":"1.0","id":"a","method":"x"}`, jsonrpc.CodeInvalidRequest, `"a"`},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, jsonrpc.CodeInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":3,"result":{}}`, jsonrpc.CodeInvalidRequest, "3"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			out := answers(t, okay, Config{MaxInFlight: 2}, tt.line+"\n"+request("9")+"\n")
			require.Len(t, out, 2)
			assertError(t, out[0], tt.code, tt.id)
			assert.Equal(t, response("9"), out[1], "the next line is served")
		})
	}
}

func TestNotificationsAreNeverAnswered(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"tools/call"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"1.0","method":"notifications/cancelled"}`,
		cancelled(`null`), cancelled(`{}`), cancelled(`1.5`), cancelled(`"unknown"`),
	} {
		assert.Empty(t, answers(t, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
			t.Errorf("the handler got a %s request", req.Method)
			return mcp.ResultResponse(req.ID, []byte(`{}`))
		}, Config{}, line+"\n"), line)
	}
}

func TestRequestsRunConcurrently(t *testing.T) {
	const n = 50
	var all sync.WaitGroup
	all.Add(n)
	out := answers(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		all.Done()
		all.Wait() // only returns once all requests are in flight
		notify([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`))
		return okay(ctx, req, notify)
	}, Config{}, func() (input string) {
		for i := range n {
			input += request(fmt.Sprint(i)) + "\n"
		}
		return input
	}())
	assert.Len(t, out, 2*n)
	for i := range n {
		assert.Contains(t, out, response(fmt.Sprint(i)))
	}
}

func TestNotificationsComeBeforeTheResponse(t *testing.T) {
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`
	var late mcp.NotifyFunc
	c := launch(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if late == nil {
			late = notify
			notify([]byte(progress))
		} else {
			late([]byte(progress)) // after its own response: dropped
		}
		return okay(ctx, req, notify)
	}, Config{})
	c.send(t, request("1"))
	assert.Equal(t, progress, c.receive(t))
	assert.Equal(t, response("1"), c.receive(t))
	c.send(t, request("2"))
	assert.Equal(t, response("2"), c.receive(t))
	assert.Empty(t, c.end(t))
}

func TestTooManyInFlight(t *testing.T) {
	release := make(chan struct{})
	c := launch(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		<-release
		return okay(ctx, req, notify)
	}, Config{MaxInFlight: 2})
	c.send(t, request("1"))
	c.send(t, request("2"))
	c.send(t, request("3"))
	refused := c.receive(t)
	assertError(t, refused, mcp.CodeOverloaded, "3")
	assert.JSONEq(t, `{"retryable":true,"retryAfterMs":1000}`, string(parse(t, refused).Error.Data))
	close(release)
	assert.ElementsMatch(t, []string{response("1"), response("2")}, []string{c.receive(t), c.receive(t)})
	assert.Empty(t, c.end(t))
}

// A client that waits for each response is never refused.
func TestAResponseMakesRoom(t *testing.T) {
	c := launch(t, okay, Config{MaxInFlight: 1})
	for range 200 {
		c.send(t, request("1"))
		require.Equal(t, response("1"), c.receive(t))
	}
	assert.Empty(t, c.end(t))
}

func TestIDsInFlightAreTaken(t *testing.T) {
	release := make(chan struct{})
	c := launch(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		<-release
		return okay(ctx, req, notify)
	}, Config{})
	c.send(t, request(`"1"`))
	c.send(t, request(`"1"`))
	assertError(t, c.receive(t), jsonrpc.CodeInvalidRequest, `"1"`)
	c.send(t, request(`"\u0031"`))
	assertError(t, c.receive(t), jsonrpc.CodeInvalidRequest, `"\u0031"`)
	c.send(t, request("1"))
	close(release)
	assert.ElementsMatch(t, []string{response(`"1"`), response("1")}, []string{c.receive(t), c.receive(t)})
	c.send(t, request("1"))
	assert.Equal(t, response("1"), c.receive(t), "an answered id is free again")
	assert.Empty(t, c.end(t))
}

func TestCancellation(t *testing.T) {
	tests := []struct {
		id, cancel string
		want       bool
	}{
		{`1`, `1`, true},
		{`"1"`, `"1"`, true},
		{`"é"`, `"\u00e9"`, true},
		{`1`, `"1"`, false},
		{`"1"`, `1`, false},
		{`1`, `2`, false},
		{`1`, `1.0`, false},
	}
	for _, tt := range tests {
		t.Run(tt.id+" by "+tt.cancel, func(t *testing.T) {
			cause := make(chan error, 1)
			release := make(chan struct{})
			c := launch(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
				if req.Method == "other" {
					return okay(ctx, req, notify)
				}
				select {
				case <-ctx.Done():
				case <-release:
				}
				cause <- context.Cause(ctx)
				notify([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`))
				return okay(ctx, req, notify)
			}, Config{})
			c.send(t, request(tt.id))
			c.send(t, cancelled(tt.cancel))
			if tt.want {
				assert.Equal(t, errCancelled, <-cause)
				assert.Empty(t, c.end(t), "nothing more is written for it")
				return
			}
			c.send(t, `{"jsonrpc":"2.0","id":"next","method":"other"}`) // served after the notification
			assert.Equal(t, response(`"next"`), c.receive(t))
			close(release)
			assert.NoError(t, <-cause)
			c.receive(t)
			assert.Equal(t, response(tt.id), c.receive(t))
			assert.Empty(t, c.end(t))
		})
	}
}

func TestEndOfInputWaitsForWhatIsInFlight(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	c := launch(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		close(started)
		<-release
		assert.NoError(t, ctx.Err())
		return okay(ctx, req, notify)
	}, Config{})
	c.send(t, request("1"))
	require.NoError(t, c.in.Close())
	<-started
	close(release)
	assert.Equal(t, response("1"), c.receive(t))
	assert.NoError(t, <-c.done)
}

func TestEndOfContextWaitsForWhatIsInFlight(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	c := launch(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		close(started)
		<-release
		assert.NoError(t, ctx.Err())
		return okay(ctx, req, notify)
	}, Config{})
	c.send(t, request("1"))
	<-started
	c.stop()
	close(release)
	assert.Equal(t, response("1"), c.receive(t))
	assert.NoError(t, <-c.done, "although the next Read still blocks")
}

func TestGracePeriodCancelsWhatIsInFlight(t *testing.T) {
	started := make(chan struct{})
	c := launch(t, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		close(started)
		<-ctx.Done()
		assert.ErrorIs(t, context.Cause(ctx), errUnanswered)
		return okay(ctx, req, notify)
	}, Config{Grace: time.Millisecond})
	c.send(t, request("1"))
	<-started
	c.stop()
	assert.ErrorIs(t, <-c.done, errUnanswered)
}

// A stuckWriter is a client that does not read: a Write returns when it is closed.
type stuckWriter struct{ writing, closed chan struct{} }

func (w stuckWriter) Write([]byte) (int, error) {
	w.writing <- struct{}{}
	<-w.closed
	return 0, io.ErrClosedPipe
}

// TestGracePeriodEndsWithAClientThatDoesNotRead has the server stuck both where it
// reads requests, with a refusal, and where it answers one.
func TestGracePeriodEndsWithAClientThatDoesNotRead(t *testing.T) {
	for name, input := range map[string]string{"refusal": "{\n", "answer": request("1") + "\n"} {
		t.Run(name, func(t *testing.T) {
			out := stuckWriter{writing: make(chan struct{}), closed: make(chan struct{})}
			defer close(out.closed)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- newServer(okay, strings.NewReader(input), out, Config{Grace: time.Millisecond}).Run(ctx)
			}()
			<-out.writing
			stop()
			assert.ErrorIs(t, <-ended, errUnanswered)
		})
	}
}

func TestReadErrorsAreReturnedAfterTheAnswers(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	in := io.MultiReader(strings.NewReader(request("1")+"\n{"), iotest.ErrReader(broken))
	err := newServer(okay, in, &out, Config{}).Run(t.Context())
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, []string{response("1")}, lines(t, out.String()))
}

func TestWriteErrorsCancelWhatIsInFlight(t *testing.T) {
	broken := errors.New("broken")
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	require.NoError(t, outRead.CloseWithError(broken))
	causes := make(chan error, 1)
	s := newServer(func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if req.ID == "1" {
			<-ctx.Done()
			causes <- context.Cause(ctx)
		}
		return okay(ctx, req, notify)
	}, inRead, outWrite, Config{})
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context()) }()
	_, err := io.WriteString(inWrite, request("1")+"\n"+request("2")+"\n")
	require.NoError(t, err)
	assert.ErrorIs(t, <-causes, broken)
	assert.ErrorIs(t, <-done, broken)
	require.NoError(t, inWrite.Close())
}

func TestLogHasNoContent(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	in := strings.NewReader(`{"jsonrpc":"2.0","id":"secret","method":"secret","params":{"secret":"secret"}}`)
	require.NoError(t, New(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ErrorResponse(req.ID, mcp.Overloaded(time.Second))
	}), in, io.Discard, Config{}, log).Run(t.Context()))
	assert.Equal(t, 1, strings.Count(logged.String(), "\n"))
	assert.Contains(t, logged.String(), `"code":-31001`)
	assert.NotContains(t, logged.String(), "secret")
}

// Whatever comes in, what goes out is one JSON-RPC response a line, and at most
// one for each line of input.
func FuzzInput(f *testing.F) {
	for _, seed := range []string{
		"", "\n", request("1"), request("1") + "\n" + request("2") + "\r\n", cancelled("1"),
		"x\n[]\n{}\nnull", request(`"\u000a"`), strings.Repeat("y", 300) + "\n" + request("3"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		out := answers(t, okay, Config{MaxLine: 256, MaxInFlight: 4}, input)
		assert.LessOrEqual(t, len(out), strings.Count(input, "\n")+1)
		for _, line := range out {
			m := parse(t, line)
			assert.NotEqual(t, m.Error == nil, m.Result == nil, "line %q", line)
		}
	})
}
