package bus_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	largeBucket = "mcpyard-large-test"
	mebibyte    = 1 << 20
)

// serverOf starts a server that takes messages of that many bytes.
func serverOf(t *testing.T, maxPayload int32, configure ...func(*server.Options)) *embedded.Server {
	t.Helper()
	return &embedded.Server{Server: bucketServer(t, func(o *server.Options) {
		o.MaxPayload = maxPayload
		for _, f := range configure {
			f(o)
		}
	})}
}

func withoutJetStream(o *server.Options) { o.JetStream = false }

// twoConnections start a worker and an ingress with a second connection each.
func twoConnections(t *testing.T, s *embedded.Server, h mcp.HandlerFunc) (*bus.Client, *bus.Consumer) {
	t.Helper()
	w, _ := startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{
		Address: address, Bulk: bustest.Connect(t, s), Slots: 4, Version: "1.2.3", Repeatable: repeatable,
	}, h)
	c := openClient(t, s, bus.ClientConfig{Bulk: bustest.ConnectIngress(t, s)})
	knows(t, c, 1)
	return c, w
}

// sized returns a request of exactly that many bytes.
func sized(t testing.TB, size int) *mcp.Request {
	t.Helper()
	const head, tail = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","pad":"`, `"}}`
	return parse(t, head+strings.Repeat("x", size-len(head)-len(tail))+tail)
}

// repeatRequest answers with the request itself.
func repeatRequest(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
	return mcp.ResultResponse(req.ID, req.Raw)
}

// answerOf answers with a response of exactly that many bytes.
func answerOf(size int) mcp.HandlerFunc {
	return func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		pad := strings.Repeat("y", size-len(mcp.ResultResponse(req.ID, []byte(`{"text":""}`)).Body))
		return mcp.ResultResponse(req.ID, []byte(`{"text":"`+pad+`"}`))
	}
}

// stored returns the stream that holds large messages.
func stored(t testing.TB, s *embedded.Server) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(rawConn(t, s))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "OBJ_"+largeBucket)
	require.NoError(t, err)
	return stream
}

// isEmptied waits until nothing is left in the store, not even a mark.
func isEmptied(t testing.TB, stream jetstream.Stream) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		info, err := stream.Info(t.Context())
		require.NoError(c, err)
		assert.Zero(c, info.State.Msgs)
	}, bustest.Patience, 5*time.Millisecond)
}

func TestLargeMessages(t *testing.T) {
	t.Parallel()
	for _, maxPayload := range []int32{64 << 10, mebibyte, 5 * mebibyte} {
		t.Run(fmt.Sprint(maxPayload), func(t *testing.T) {
			t.Parallel()
			s := serverOf(t, maxPayload)
			c, w := twoConnections(t, s, repeatRequest)
			inline := int(maxPayload) - 4<<10
			for _, size := range []int{1000, min(inline, mebibyte), min(inline, mebibyte) + 1, 300 << 10, 4 * mebibyte, int(maxPayload)} {
				req := sized(t, size)
				res := c.Handle(t.Context(), req, noNotifications(t))
				require.Zero(t, res.Code, "%.300s", res.Body)
				require.Equal(t, sha256.Sum256(mcp.ResultResponse(req.ID, req.Raw).Body), sha256.Sum256(res.Body), "%d bytes", size)
			}
			isEmptied(t, stored(t, s))
			assert.Zero(t, c.Kept())
			require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
		})
	}
}

// TestLargeMessagesHaveAConnection looks at the number of the connection in the
// subjects of replies.
func TestLargeMessagesHaveAConnection(t *testing.T) {
	t.Parallel()
	const small, large = 1000, 600 << 10
	for _, size := range []struct{ request, response int }{{small, small}, {small, large}, {large, small}, {large, large}} {
		s := serverOf(t, mebibyte)
		c, _ := twoConnections(t, s, answerOf(size.response))
		conn := rawConn(t, s)
		seen := make(chan *nats.Msg, 100)
		_, err := conn.ChanSubscribe("mcp.v1.test.>", seen)
		require.NoError(t, err)
		require.NoError(t, conn.Flush())
		require.Zero(t, c.Handle(t.Context(), sized(t, size.request), noNotifications(t)).Code)

		number := func(bytes int) string { return map[int]string{small: "0", large: "1"}[bytes] }
		isMessage := func(m *nats.Msg) (isRequest, isResult bool) {
			tokens := strings.Split(m.Subject, ".")
			if tokens[3] != "r" || tokens[6] == "p" {
				return tokens[len(tokens)-2] == "call", false
			}
			_, _, frame := untrailed(t, m)
			return false, strings.HasPrefix(frame, "r-")
		}
		for result := false; !result; {
			m := receive(t, seen)
			var request bool
			if request, result = isMessage(m); request {
				assert.Equal(t, number(size.request), strings.Split(m.Reply, ".")[5], "of a request of %d bytes", size.request)
			} else if result {
				want := max(number(size.request), number(size.response))
				assert.Equal(t, want, strings.Split(m.Subject, ".")[5], "of a response of %d bytes", size.response)
			}
		}
	}
}

func TestMessagesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	const inline, most = mebibyte - 4<<10, 16 * mebibyte
	longPrincipal := sized(t, inline)
	longPrincipal.Principal = strings.Repeat("ü", 1000) // six bytes each in the header
	full := func(t *testing.T, s *embedded.Server) {
		js, err := jetstream.New(rawConn(t, s))
		require.NoError(t, err)
		_, err = js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: largeBucket, MaxBytes: mebibyte})
		require.NoError(t, err)
	}
	tests := []struct {
		name     string
		server   func(*server.Options)
		prepare  func(*testing.T, *embedded.Server)
		request  *mcp.Request
		response int
		runs     bool
		limit    int64
	}{
		{"request", nil, nil, sized(t, most+1), 100, false, most},
		{"response", nil, nil, sized(t, 1000), most + 1, true, most},
		{"header", nil, nil, longPrincipal, 100, false, inline},
		{"request without JetStream", withoutJetStream, nil, sized(t, inline+1), 100, false, inline},
		{"response without JetStream", withoutJetStream, nil, sized(t, 1000), inline + 1, true, inline},
		{"request, the store is full", nil, full, sized(t, 2*mebibyte), 100, false, inline},
		{"response, the store is full", nil, full, sized(t, 1000), 2 * mebibyte, true, inline},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serverOf(t, mebibyte)
			if tt.server != nil {
				s = serverOf(t, mebibyte, tt.server)
			}
			if tt.prepare != nil {
				tt.prepare(t, s)
			}
			ran := make(chan struct{}, 10)
			c, _ := twoConnections(t, s, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
				ran <- struct{}{}
				return answerOf(tt.response)(ctx, req, notify)
			})
			res := c.Handle(t.Context(), tt.request, noNotifications(t))
			require.Equal(t, mcp.CodeMessageTooLarge, res.Code, "%.300s", res.Body)
			assert.Equal(t, tt.limit, decode(t, res.Body).Error.Data.LimitBytes)
			if tt.runs {
				assert.Len(t, ran, 1)
			} else {
				assert.Empty(t, ran)
			}
			assert.Zero(t, c.Kept())
			if tt.prepare != nil {
				isEmptied(t, stored(t, s))
			}
		})
	}
}

// TestNoBodyIsReadThatNothingCarries holds that an ingress without JetStream says
// so once it knows.
func TestNoBodyIsReadThatNothingCarries(t *testing.T) {
	t.Parallel()
	const inline = mebibyte - 4<<10
	for name, want := range map[string]struct {
		configure func(*server.Options)
		limit     int64
	}{
		"JetStream":    {func(*server.Options) {}, 16 * mebibyte},
		"no JetStream": {withoutJetStream, inline},
	} {
		c, _ := twoConnections(t, serverOf(t, mebibyte, want.configure), repeatRequest)
		assert.EqualValues(t, 16*mebibyte, c.MaxRequest(), "%s, before it is known", name)
		c.Handle(t.Context(), sized(t, 2*mebibyte), noNotifications(t))
		assert.Equal(t, want.limit, c.MaxRequest(), name)
	}
}

// sendClaim sends a request whose body is in the store.
func (r *rawIngress) sendClaim(t testing.TB, attempt, claim string) {
	t.Helper()
	until := time.Now().Add(time.Minute).UnixMilli()
	require.NoError(t, r.PublishMsg(&nats.Msg{
		Subject: r.worker + ".call.echo",
		Reply:   rawPrefix + "i.1",
		Data:    []byte(trailed("", attempt, fmt.Sprintf("s-%d-%d", until, until))),
		Header:  nats.Header{"Mcp-Blob": []string{claim}},
	}))
}

func openLargeBucket(t testing.TB, nc *nats.Conn) jetstream.ObjectStore {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	objects, err := js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: largeBucket})
	require.NoError(t, err)
	return objects
}

// TestWorkerTakesOnlyWhatWasPut holds that a request starts only if it is what its
// ingress has stored.
func TestWorkerTakesOnlyWhatWasPut(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	ran := make(chan string, 10)
	w, _ := startWorker(t, s, 2, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		ran <- string(req.Raw)
		return result(ctx, req, notify)
	})
	raw := newRawIngress(t, s, w)
	objects := openLargeBucket(t, raw.Conn)
	call, other := toolCall(1, "echo"), toolCall(2, "echo")
	info, err := objects.PutString(t.Context(), "call", call)
	require.NoError(t, err)
	replaced, err := objects.PutString(t.Context(), "replaced", call)
	require.NoError(t, err)
	_, err = objects.PutString(t.Context(), "replaced", other)
	require.NoError(t, err)
	cut, err := objects.PutString(t.Context(), "cut", call)
	require.NoError(t, err)
	require.NoError(t, stored(t, s).Purge(t.Context(), jetstream.WithPurgeSubject("$O."+largeBucket+".C."+cut.NUID)))

	for i, claim := range []string{"nothing " + info.Digest, "replaced " + replaced.Digest, "cut " + cut.Digest, "call"} {
		raw.sendClaim(t, fmt.Sprint(i+1), claim)
		_, frame, _ := raw.next(t)
		assert.Equal(t, "m-1-2", frame, claim)
		raw.ping(t, fmt.Sprint(i+1))
		_, frame, _ = raw.next(t)
		assert.Equal(t, "u-1-2", frame, "it is known not to have started")
	}
	assert.Empty(t, ran)
	raw.sendClaim(t, "9", "call "+info.Digest)
	_, frame, _ := raw.next(t)
	assert.Equal(t, "r-1-2", frame)
	assert.Equal(t, call, receive(t, ran))
}

func TestRequestsThatAreNotInTheStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		frames []string // with which the worker answers
		code   int
	}{
		"once":         {[]string{"m-1-1", "r-1-1"}, 0},
		"twice":        {[]string{"m-1-1", "m-1-1"}, mcp.CodeMessageTooLarge},
		"after a busy": {[]string{"b-1-0", "r-1-1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serverOf(t, 64<<10)
			c := openClient(t, s, bus.ClientConfig{})
			w := startDeadWorker(t, s)
			knows(t, c, 1)
			done := handle(t, c, sized(t, 100<<10))
			claims := map[string]bool{}
			for _, frame := range tt.frames {
				m := w.nextCall(t)
				body, _, _ := untrailed(t, m)
				assert.Empty(t, body)
				claims[m.Header.Get("Mcp-Blob")] = true
				w.reply(t, m, frame, "", "")
			}
			assert.Equal(t, tt.code, receive(t, done).Code)
			assert.Len(t, claims, map[bool]int{true: 1, false: 2}[name == "after a busy"], "what is there is sent again")
			isEmptied(t, stored(t, s))
		})
	}
}

// TestResultsThatAreNotInTheStore holds that such a call counts as one of a lost
// worker: it has run.
func TestResultsThatAreNotInTheStore(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	c := openClient(t, s, bus.ClientConfig{})
	w := startDeadWorker(t, s)
	knows(t, c, 1)
	openLargeBucket(t, w.Conn)
	done := handle(t, c, request(t, 1, "echo"))
	w.reply(t, receive(t, w.calls), "r-1-1", "", "nothing SHA-256=none")
	again := receive(t, w.calls)
	_, _, terms := untrailed(t, again)
	assert.True(t, strings.HasPrefix(terms, "S-"), "it may have run before")
	w.reply(t, again, "o-1-1", "", "")
	assert.Equal(t, mcp.CodeOutcomeUnknown, receive(t, done).Code)
	assert.Zero(t, c.Kept())
}

func TestNothingIsLeftOfLargeCallsThatAreCancelled(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	c, w := twoConnections(t, s, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		g.handle(ctx, req, notify)
		return repeatRequest(ctx, req, notify) // for nobody
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := handleUntil(ctx, t, c, sized(t, 2*mebibyte))
	receive(t, g.entered)
	stream := stored(t, s)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	assert.Positive(t, info.State.Msgs)
	cancel()
	receive(t, done)
	receive(t, g.ended)
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
	isEmptied(t, stream)
	assert.Zero(t, c.Kept())
}

// TestLargeResultIsTheSameAgain holds that a result in the store can be asked for
// until it is taken.
func TestLargeResultIsTheSameAgain(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, _ := startWorker(t, s, 2, answerOf(2*mebibyte))
	raw := newRawIngress(t, s, w)
	raw.send(t, "7", toolCall(1, "echo"), time.Minute, time.Minute)
	last := func() *nats.Msg {
		for {
			m := receive(t, raw.replies)
			if _, _, frame := untrailed(t, m); strings.HasPrefix(frame, "r-") {
				return m
			}
		}
	}
	first := last()
	raw.ping(t, "7")
	again := last()
	assert.Equal(t, first.Subject, again.Subject)
	assert.Equal(t, first.Header, again.Header)
	assert.Equal(t, string(first.Data), string(again.Data), "a trailer alone")
	assert.True(t, strings.HasPrefix(string(again.Data), "\n7 r-"), "%s", again.Data)
	name, digest, _ := strings.Cut(again.Header.Get("Mcp-Blob"), " ")
	js, err := jetstream.New(raw.Conn)
	require.NoError(t, err)
	objects, err := js.ObjectStore(t.Context(), largeBucket)
	require.NoError(t, err)
	body, err := objects.GetBytes(t.Context(), name)
	require.NoError(t, err)
	assert.Len(t, body, 2*mebibyte)
	info, err := objects.GetInfo(t.Context(), name)
	require.NoError(t, err)
	assert.Equal(t, digest, info.Digest)
	status, err := objects.Status(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 10*time.Minute, status.TTL())
}
