package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

var address = bus.Address{Realm: "test", Pool: "default"}

// startWorker runs a worker until the test ends, when it loses its connection,
// or stop is called; stop returns what Run returned.
func startWorker(t testing.TB, s *embedded.Server, slots int, h mcp.HandlerFunc) (w *bus.Consumer, stop func() error) {
	t.Helper()
	return startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: address, Slots: slots, Version: "1.2.3"}, h)
}

func startWorkerWith(t testing.TB, conn *bus.Conn, cfg bus.ConsumerConfig, h mcp.HandlerFunc) (w *bus.Consumer, stop func() error) {
	t.Helper()
	w, err := bus.NewConsumer(conn, h, cfg, bustest.Log(t))
	require.NoError(t, err)
	stop = run(t, w)
	t.Cleanup(conn.Close) // no drain, which takes half a second
	require.Eventually(t, w.Ready, bustest.Patience, time.Millisecond)
	return w, stop
}

// run runs w until the test ends or stop is called; stop returns what Run
// returned.
func run(t testing.TB, w *bus.Consumer) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	var result error
	go func() {
		defer close(done)
		result = w.Run(ctx)
	}()
	stop = func() error {
		cancel()
		<-done
		return result
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// openClient opens an ingress's end of the bus for the time of the test.
func openClient(t testing.TB, s *embedded.Server, cfg bus.ClientConfig) *bus.Client {
	t.Helper()
	return openClientOn(t, bustest.ConnectIngress(t, s), cfg)
}

func openClientOn(t testing.TB, conn *bus.Conn, cfg bus.ClientConfig) *bus.Client {
	t.Helper()
	cfg.Realm = address.Realm
	c, err := bus.OpenClient(conn, cfg, bustest.Log(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// rawConn is a connection that knows nothing of the bus.
func rawConn(t testing.TB, s *embedded.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// knows waits until the client has heard of n workers.
func knows(t testing.TB, c *bus.Client, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return c.Workers(address.Pool) == n }, bustest.Patience, time.Millisecond)
}

// queued waits until n requests wait for a slot.
func queued(t testing.TB, c *bus.Client, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return c.Queued(address.Pool) == n }, bustest.Patience, time.Millisecond)
}

// receive takes the next value of c, and fails the test if there is none in
// time.
func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(bustest.Patience):
		require.FailNow(t, "nothing came in time")
	}
	return v
}

// request returns a tools/call of the tool name.
func request(t testing.TB, id int, name string) *mcp.Request {
	t.Helper()
	return parse(t, toolCall(id, name))
}

func toolCall(id int, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":"hello"}}}`, id, name)
}

func parse(t testing.TB, raw string) *mcp.Request {
	t.Helper()
	req, fault := mcp.ParseRequest([]byte(raw))
	require.Nil(t, fault)
	req.Pool = address.Pool
	return req
}

// handle has req answered in the background.
func handle(t testing.TB, c *bus.Client, req *mcp.Request) <-chan *mcp.Response {
	t.Helper()
	return handleUntil(t.Context(), t, c, req)
}

func handleUntil(ctx context.Context, t testing.TB, c *bus.Client, req *mcp.Request) <-chan *mcp.Response {
	t.Helper()
	responses := make(chan *mcp.Response, 1)
	go func() { responses <- c.Handle(ctx, req, noNotifications(t)) }()
	return responses
}

// result answers every request with its principal and profile.
func result(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
	body, _ := json.Marshal(map[string]string{"principal": req.Principal, "profile": req.Profile.String()})
	return mcp.ResultResponse(req.ID, body)
}

func noNotifications(t testing.TB) mcp.NotifyFunc {
	return func(n []byte) { t.Errorf("unexpected notification %s", n) }
}

// An answer is what tests look at in a response.
type answer struct {
	ID     json.RawMessage
	Result map[string]string
	Error  *struct {
		Code int
		Data struct {
			Retryable    *bool
			RetryAfterMs int64
			Started      *bool
			LimitBytes   int64
		}
	}
}

func decode(t testing.TB, body []byte) (a answer) {
	t.Helper()
	require.NoError(t, json.Unmarshal(body, &a), "%s", body)
	return a
}

// A gate is a handler whose calls stay until the test lets them go, or their
// context ends.
type gate struct {
	entered chan *mcp.Request
	leave   chan struct{} // one value lets one call go; closed, all of them
	ended   chan error    // why the contexts of calls ended
}

func newGate() *gate {
	return &gate{entered: make(chan *mcp.Request, 100), leave: make(chan struct{}), ended: make(chan error, 100)}
}

func (g *gate) handle(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	g.entered <- req
	select {
	case <-g.leave:
		return result(ctx, req, notify)
	case <-ctx.Done():
		g.ended <- ctx.Err()
		return mcp.ErrorResponse(req.ID, mcp.InternalError())
	}
}

// stubborn is a handler that does not care for its context.
func (g *gate) stubborn(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	g.entered <- req
	<-g.leave
	return result(ctx, req, notify)
}

// A rawIngress speaks the wire protocol by hand.
type rawIngress struct {
	*nats.Conn
	replies chan *nats.Msg
	worker  string // the prefix of its subjects
}

const rawPrefix = "mcp.v1.test.r.RAW.0."

func newRawIngress(t testing.TB, s *embedded.Server, w *bus.Consumer) *rawIngress {
	t.Helper()
	r := &rawIngress{Conn: rawConn(t, s), replies: make(chan *nats.Msg, 100), worker: "mcp.v1.test.default.w." + w.ID()}
	_, err := r.ChanSubscribe(rawPrefix+">", r.replies)
	require.NoError(t, err)
	require.NoError(t, r.Flush())
	return r
}

// send sends body as the attempt, to be started and ended within the given
// times.
func (r *rawIngress) send(t testing.TB, attempt, body string, start, end time.Duration) {
	t.Helper()
	now := time.Now()
	r.sendOn(t, r.worker+".call."+token(body), body, attempt, fmt.Sprintf("s-%d-%d", now.Add(start).UnixMilli(), now.Add(end).UnixMilli()))
	require.NoError(t, r.Flush())
}

// sendOn sends body as the attempt with these terms.
func (r *rawIngress) sendOn(t testing.TB, subject, body, attempt, terms string) {
	t.Helper()
	require.NoError(t, r.PublishRequest(subject, rawPrefix+"i.1", []byte(trailed(body, attempt, terms))))
}

// trailed is a message with a trailer.
func trailed(body, attempt, token string) string { return body + "\n" + attempt + " " + token }

// untrailed splits a message with a trailer.
func untrailed(t testing.TB, m *nats.Msg) (body, attempt, token string) {
	t.Helper()
	body, trailer, ok := strings.Cut(string(m.Data), "\n")
	require.True(t, ok, "%s %s", m.Subject, m.Data)
	attempt, token, ok = strings.Cut(trailer, " ")
	require.True(t, ok, "%s %s", m.Subject, m.Data)
	return body, attempt, token
}

// control sends a message to the worker's control subject.
func (r *rawIngress) control(t testing.TB, message string) {
	t.Helper()
	require.NoError(t, r.Publish(r.worker+".ctl", []byte(message)))
	require.NoError(t, r.Flush())
}

// waitUntilGone waits until NATS has no subscription of the worker. A request
// that it sends before NATS has noticed is lost.
func (r *rawIngress) waitUntilGone(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := r.Request(r.worker+".call._", []byte("{}"), 100*time.Millisecond)
		return errors.Is(err, nats.ErrNoResponders)
	}, bustest.Patience, time.Millisecond)
}

// next returns the attempt, the frame and the body of the next reply.
func (r *rawIngress) next(t testing.TB) (attempt, frame, body string) {
	t.Helper()
	m := receive(t, r.replies)
	body, attempt, frame = untrailed(t, m)
	want := "a." + attempt
	if strings.Contains("rbdxom", frame[:1]) {
		want = "i.1" // the last reply
	}
	assert.Equal(t, rawPrefix+want, m.Subject, frame)
	return attempt, frame, body
}

// token is the last token of the subject for body.
func token(body string) string {
	req, _ := mcp.ParseRequest([]byte(body))
	if name, ok := req.Target(); ok && req.Method == mcp.MethodToolsCall {
		return name
	}
	return "_"
}
