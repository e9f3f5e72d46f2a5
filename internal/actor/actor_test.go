package actor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/oklog/run"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/internal/actor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

// until returns an actor that tells when it ends, with err, after its context.
func until(ended chan<- string, name string, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		ended <- name
		return err
	}
}

func TestGroupInterruptsActors(t *testing.T) {
	ended := make(chan string, 1)
	var g run.Group
	g.Add(actor.New(t.Context(), slog.New(slog.DiscardHandler), "first", until(ended, "first", nil)))
	g.Add(actor.New(t.Context(), slog.New(slog.DiscardHandler), "second", func(context.Context) error { return errBroken }))
	require.ErrorIs(t, g.Run(), errBroken)
	assert.Equal(t, "first", <-ended)
}

func TestErrorsOfTheEndAreLogged(t *testing.T) {
	var lines bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan string, 1)
	var g run.Group
	g.Add(actor.New(ctx, slog.New(slog.NewTextHandler(&lines, nil)), "last", until(ended, "last", errBroken)))
	require.NoError(t, g.Run())
	assert.Contains(t, lines.String(), "actor=last error=broken")
}

func TestBackOutlivesFront(t *testing.T) {
	ended := make(chan string, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	front := func(ctx context.Context) error {
		<-ctx.Done()
		ended <- "front"
		return errBroken
	}
	require.ErrorIs(t, actor.InFront(front, until(ended, "back", nil))(ctx), errBroken)
	assert.Equal(t, []string{"front", "back"}, []string{<-ended, <-ended})
}

func TestFrontEndsWithBack(t *testing.T) {
	ended := make(chan string, 1)
	back := func(context.Context) error { return errBroken }
	require.ErrorIs(t, actor.InFront(until(ended, "front", nil), back)(t.Context()), errBroken)
	assert.Equal(t, "front", <-ended)
}

func TestAllEndTogether(t *testing.T) {
	ended := make(chan string, 1)
	broken := func(context.Context) error { return errBroken }
	require.ErrorIs(t, actor.All(until(ended, "other", io.EOF), broken)(t.Context()), errBroken)
	assert.Equal(t, "other", <-ended)
}

// serve runs an HTTP actor whose handler blocks until its request is cut off or
// release is closed, with one request in flight, and tells it to stop.
func serve(t *testing.T, grace time.Duration, release <-chan struct{}) (status int, err error) {
	t.Helper()
	inHandler := make(chan struct{})
	srv := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inHandler)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- actor.HTTP(srv, ln, grace)(ctx) }()
	answered := make(chan int, 1)
	go func() {
		defer close(answered)
		res, err := http.Get("http://" + ln.Addr().String())
		if err == nil {
			answered <- res.StatusCode
			res.Body.Close()
		}
	}()
	<-inHandler
	cancel()
	err = <-ended
	http.DefaultClient.CloseIdleConnections()
	return <-answered, err
}

func TestHTTPFinishesWhatIsInFlight(t *testing.T) {
	release := make(chan struct{})
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	status, err := serve(t, time.Minute, release)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
}

func TestHTTPEndsWithTheGracePeriod(t *testing.T) {
	status, err := serve(t, 50*time.Millisecond, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Zero(t, status)
}

func TestHTTPReportsALostListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	require.ErrorIs(t, actor.HTTP(&http.Server{}, ln, time.Second)(t.Context()), net.ErrClosed)
}
