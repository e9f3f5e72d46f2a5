package bus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestCallKeepsIDsByteForByte(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	startWorker(t, s, 1, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ResultResponse(req.ID, []byte(`{}`))
	})
	c := openClient(t, s, bus.ClientConfig{})
	for _, id := range []string{`0`, `1`, `"1"`, `-7`, `9007199254740993`, `123456789012345678901234567890`, `""`, `"\u00fc \n\"ü"`} {
		req := parse(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/list"}`, id))
		res := c.Handle(t.Context(), req, noNotifications(t))
		assert.Zero(t, res.Code)
		assert.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id), string(res.Body))
	}
}

func TestCallCarriesPrincipalAndProfile(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	startWorker(t, s, 1, result)
	c := openClient(t, s, bus.ClientConfig{})
	for _, principal := range []string{"", "alice", "two words", "line\r\nbreak: x\n\n", "日本語 ü 🙂", "100%+&=;/?#", strings.Repeat("x", 2000)} {
		for _, profile := range []mcp.Profile{mcp.Strict, mcp.Contract} {
			req := request(t, 1, "echo")
			req.Principal, req.Profile = principal, profile
			res := decode(t, c.Handle(t.Context(), req, noNotifications(t)).Body)
			assert.Equal(t, map[string]string{"principal": principal, "profile": profile.String()}, res.Result)
		}
	}
}

// What headers of the HTTP request repeat is compared by the worker, which knows
// the tool. Requests without such headers cost nothing for it.
func TestCallCarriesParamHeaders(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	got := make(chan *mcp.Request, 1)
	startWorker(t, s, 1, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		got <- req
		return result(ctx, req, notify)
	})
	c := openClient(t, s, bus.ClientConfig{})
	for _, want := range []mcp.ParamHeaders{
		nil,
		{"region": {"us-west1"}},
		{"a!#$%&'*+-.^_|~0": {""}, "twice": {"x", "x"}, "text": {"=?base64?IHBhZGRlZCA=?="}, "latin": {"gr\xf6\xdfe"}},
	} {
		for _, mirrored := range []bool{true, false} {
			req := request(t, 1, "echo")
			req.Mirrored, req.ParamHeaders, req.Principal = mirrored, want, "alice"
			c.Handle(t.Context(), req, noNotifications(t))
			received := receive(t, got)
			assert.Equal(t, want, received.ParamHeaders)
			assert.Equal(t, mirrored, received.Mirrored)
			assert.Equal(t, "alice", received.Principal)
		}
	}
}

func TestCallCarriesTheMessageAsReceived(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	got := make(chan *mcp.Request, 1)
	startWorker(t, s, 1, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		got <- req
		return result(ctx, req, notify)
	})
	c := openClient(t, s, bus.ClientConfig{})
	spy := make(chan *nats.Msg, 10)
	nc := rawConn(t, s)
	_, err := nc.ChanSubscribe("mcp.v1.test.default.w.*.call.>", spy)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())

	for raw, token := range map[string]string{
		`{ "jsonrpc":"2.0", "id":1, "method":"tools/call", "params":{"name":"a.b c"} }`: "a=2Eb=20c",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`:       "echo",
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"echo"}}`:      "_",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`:            "_",
	} {
		c.Handle(t.Context(), parse(t, raw), noNotifications(t))
		req := receive(t, got)
		assert.Equal(t, raw, string(req.Raw))
		assert.Equal(t, address.Pool, req.Pool)
		m := receive(t, spy)
		assert.Equal(t, token, m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		assert.Empty(t, m.Header, "headers cost more than subject tokens")
	}
}

func TestCallCarriesErrors(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	startWorker(t, s, 1, func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
		return mcp.ErrorResponse(req.ID, mcp.InvalidParams("no"))
	})
	c := openClient(t, s, bus.ClientConfig{})
	res := c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t))
	assert.Equal(t, -32602, res.Code)
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: no"}}`, string(res.Body))
}

func TestNotificationsComeInOrderBeforeTheResult(t *testing.T) {
	t.Parallel()
	const requests, many = 3, 1000
	s := bustest.StartServer(t)
	var running sync.WaitGroup
	running.Add(requests)
	startWorker(t, s, requests, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		running.Done()
		running.Wait() // all at the same time
		for i := range many {
			notify(fmt.Appendf(nil, "%s: %d", req.ID, i))
		}
		return result(ctx, req, notify)
	})
	c := openClient(t, s, bus.ClientConfig{})
	var all sync.WaitGroup
	for id := range requests {
		req := request(t, id, "echo")
		all.Go(func() {
			var got, want []string
			res := c.Handle(t.Context(), req, func(n []byte) { got = append(got, string(n)) })
			assert.Zero(t, res.Code)
			for i := range many {
				want = append(want, fmt.Sprintf("%d: %d", id, i))
			}
			assert.Equal(t, want, got, "and none of another request") // read without a lock: all came before Handle returned
		})
	}
	all.Wait()
}

func TestFramesOfOneCall(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, _ := startWorker(t, s, 3, func(_ context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		notify([]byte("one"))
		notify(make([]byte, 2<<20)) // more than NATS takes
		notify([]byte("two"))
		return mcp.ErrorResponse(req.ID, mcp.InternalError())
	})
	raw := newRawIngress(t, s, w)
	raw.send(t, "1", toolCall(1, "echo"), time.Minute, time.Minute)
	var kinds string
	for number := 1; !strings.HasSuffix(kinds, "r"); number++ {
		_, frame, _ := raw.next(t)
		rest, ok := strings.CutPrefix(frame[1:], fmt.Sprintf("-%d-", number))
		assert.True(t, ok, "the number of %s is not %d", frame, number)
		assert.Equal(t, map[byte]string{'a': "2", 'n': "2", 'r': "3--32603"}[frame[0]], rest, "free slots, and the code")
		kinds += frame[:1]
	}
	assert.Equal(t, "nnr", strings.ReplaceAll(kinds, "a", "")) // accepted only on a very slow machine
}

func TestAcceptOnlyWhenTheCallTakesLong(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 1, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		if name, _ := req.Target(); name == "slow" {
			return g.handle(ctx, req, notify)
		}
		return result(ctx, req, notify)
	})
	raw := newRawIngress(t, s, w)

	began := time.Now()
	raw.send(t, "slow", toolCall(1, "slow"), time.Minute, time.Minute)
	attempt, frame, body := raw.next(t)
	assert.Equal(t, "slow", attempt)
	assert.Equal(t, "a-1-0", frame)
	assert.Empty(t, body)
	assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
	close(g.leave)
	_, frame, _ = raw.next(t)
	assert.Equal(t, "r-2-1", frame)

	quick := 0
	for i := range 10 {
		raw.send(t, fmt.Sprint(i+1), toolCall(1, "quick"), time.Minute, time.Minute)
		_, frame, _ := raw.next(t)
		if frame == "r-1-1" {
			quick++
		} else { // on a very slow machine
			raw.next(t)
		}
	}
	assert.Positive(t, quick)
}

func TestPoolsAndRealmsAreApart(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	startWorker(t, s, 1, result)
	for _, other := range []bus.Address{{Realm: "test", Pool: "other"}, {Realm: "elsewhere", Pool: "default"}} {
		startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: other, Version: "1.2.3"},
			func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
				return mcp.ResultResponse(req.ID, fmt.Appendf(nil, `{"pool":%q}`, req.Pool))
			})
	}
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	require.Eventually(t, func() bool { return c.Workers("other") == 1 }, bustest.Patience, time.Millisecond)
	req := request(t, 1, "echo")
	assert.Contains(t, decode(t, c.Handle(t.Context(), req, noNotifications(t)).Body).Result, "principal")
	req.Pool = "other"
	assert.Equal(t, "other", decode(t, c.Handle(t.Context(), req, noNotifications(t)).Body).Result["pool"])
	assert.Equal(t, 2, c.Pools())
}

func TestConfigsAreValidated(t *testing.T) {
	t.Parallel()
	conn := bustest.Connect(t, bustest.StartServer(t))
	_, err := bus.NewConsumer(conn, mcp.HandlerFunc(result), bus.ConsumerConfig{Address: bus.Address{Realm: "a.b", Pool: "p"}}, bustest.Log(t))
	require.ErrorContains(t, err, "realm")
	_, err = bus.NewConsumer(conn, mcp.HandlerFunc(result), bus.ConsumerConfig{Address: address, Slots: -1}, bustest.Log(t))
	require.ErrorContains(t, err, "slots")
	_, err = bus.OpenClient(conn, bus.ClientConfig{Realm: "*"}, bustest.Log(t))
	require.ErrorContains(t, err, "realm")
}
