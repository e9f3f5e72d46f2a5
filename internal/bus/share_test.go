package bus_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A ledger has the ids of the requests that handlers were called with.
type ledger struct {
	mu   sync.Mutex // guards runs
	runs map[jsonrpc.ID]int
}

// handle takes up to 2 ms.
func (l *ledger) handle(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	l.mu.Lock()
	if l.runs == nil {
		l.runs = make(map[jsonrpc.ID]int)
	}
	l.runs[req.ID]++
	l.mu.Unlock()
	select {
	case <-time.After(rand.N(2 * time.Millisecond)):
	case <-ctx.Done():
	}
	return result(ctx, req, notify)
}

// requireOnce holds that each of n requests was run, and none twice.
func (l *ledger) requireOnce(t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Len(t, l.runs, n)
	for id, runs := range l.runs {
		require.Equal(t, 1, runs, "request %s", id)
	}
}

// A load is callers that send one request after the other.
type load struct {
	stop   chan struct{}
	wait   sync.WaitGroup
	lastID atomic.Int64
	failed atomic.Int64
}

// startLoad starts so many callers for each client; end stops them. Each sends
// at most that many requests.
func startLoad(t *testing.T, clients []*bus.Client, callers, most int) *load {
	t.Helper()
	l := &load{stop: make(chan struct{})}
	for _, c := range clients {
		for i := range callers {
			l.wait.Go(func() { l.call(t, c, "caller"+strconv.Itoa(i), most) })
		}
	}
	return l
}

func (l *load) call(t *testing.T, c *bus.Client, principal string, most int) {
	for range most {
		select {
		case <-l.stop:
			return
		default:
		}
		req := request(t, int(l.lastID.Add(1)), "echo")
		req.Principal = principal
		if res := c.Handle(t.Context(), req, noNotifications(t)); res.Code != 0 {
			l.failed.Add(1)
			t.Errorf("request failed: %s", res.Body)
		}
	}
}

func TestManyClientsShareWorkers(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	var ran ledger
	for range 2 {
		startWorker(t, s, 3, ran.handle)
	}
	var clients []*bus.Client
	for range 4 {
		c := openClient(t, s, bus.ClientConfig{})
		knows(t, c, 2)
		clients = append(clients, c)
	}
	l := startLoad(t, clients, 5, 50)
	l.wait.Wait()
	assert.Zero(t, l.failed.Load())
	ran.requireOnce(t, 4*5*50)
	for _, c := range clients {
		assert.Zero(t, c.Kept())
	}
}

func TestEqualWorkersGetEqualWork(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	var counts [3]atomic.Int64
	for i := range counts {
		startWorker(t, s, 4, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			counts[i].Add(1)
			return result(ctx, req, notify)
		})
	}
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 3)
	for i := range 90 {
		require.Zero(t, c.Handle(t.Context(), request(t, i, "echo"), noNotifications(t)).Code)
	}
	for i := range counts {
		assert.InDelta(t, 30, counts[i].Load(), 15)
	}
}

// busyWorker starts a worker with one slot, which is taken by a call of c.
func busyWorker(t *testing.T, s *embedded.Server, c *bus.Client) *gate {
	t.Helper()
	g := newGate()
	startWorker(t, s, 1, g.handle)
	knows(t, c, 1)
	handle(t, c, request(t, 0, "echo"))
	receive(t, g.entered)
	return g
}

// line queues a request of each principal, one after the other. It returns
// their responses.
func line(t *testing.T, c *bus.Client, principals ...string) (responses []<-chan *mcp.Response) {
	t.Helper()
	before := c.Queued(address.Pool)
	for i, p := range principals {
		req := request(t, i+1, "echo")
		req.Principal = p
		responses = append(responses, handle(t, c, req))
		queued(t, c, before+i+1)
	}
	return responses
}

func TestQueueEndToEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ principals, ids string }{
		"first in, first out":       {"a a a a a a", "1 2 3 4 5 6"},
		"turns between principals":  {"a a a a b b c", "1 5 7 2 6 3 4"},
		"no principal is one of it": {"- - a", "1 3 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := bustest.StartServer(t)
			c := openClient(t, s, bus.ClientConfig{})
			g := busyWorker(t, s, c)
			responses := line(t, c, strings.Fields(strings.ReplaceAll(test.principals, "-", "anonymous"))...)
			var ran []string
			for range responses {
				g.leave <- struct{}{}
				ran = append(ran, string(receive(t, g.entered).ID))
			}
			close(g.leave)
			assert.Equal(t, test.ids, strings.Join(ran, " "))
			for _, r := range responses {
				assert.Zero(t, receive(t, r).Code)
			}
		})
	}
}

func TestFullQueueRefuses(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	c := openClient(t, s, bus.ClientConfig{MaxQueue: 2})
	g := busyWorker(t, s, c)
	waiting := line(t, c, "flood", "flood")

	overloaded := func(res *mcp.Response) {
		t.Helper()
		assert.Equal(t, mcp.CodeOverloaded, res.Code)
		assert.GreaterOrEqual(t, res.RetryAfter, 100*time.Millisecond)
		fault := decode(t, res.Body).Error
		require.NotNil(t, fault.Data.Retryable)
		assert.True(t, *fault.Data.Retryable)
		assert.GreaterOrEqual(t, fault.Data.RetryAfterMs, int64(100))
	}
	completion := parse(t, `{"jsonrpc":"2.0","id":6,"method":"completion/complete","params":{}}`)
	for _, flood := range []*mcp.Request{request(t, 7, "echo"), completion} {
		flood.Principal = "flood"
		overloaded(receive(t, handle(t, c, flood)))
	}

	quiet := request(t, 8, "echo")
	quiet.Principal = "quiet"
	quietResponse := handle(t, c, quiet)
	overloaded(receive(t, waiting[1])) // it makes room for who waits for less
	assert.Equal(t, 2, c.Queued(address.Pool))

	close(g.leave)
	assert.Zero(t, receive(t, waiting[0]).Code)
	assert.Zero(t, receive(t, quietResponse).Code)
	assert.Len(t, g.entered, 2, "what was refused has not run")
}

func TestQueueBytesAreBounded(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	c := openClient(t, s, bus.ClientConfig{MaxQueueBytes: 150})
	g := busyWorker(t, s, c)
	waiting := line(t, c, "a")
	assert.Equal(t, mcp.CodeOverloaded, c.Handle(t.Context(), request(t, 2, "echo"), noNotifications(t)).Code)
	close(g.leave)
	assert.Zero(t, receive(t, waiting[0]).Code)
}

// TestBusyWorkerBounces has an ingress that does not know of the other one's
// call.
func TestBusyWorkerBounces(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 2, g.handle)
	raw := newRawIngress(t, s, w)
	for _, attempt := range []string{"1", "2"} {
		raw.send(t, attempt, toolCall(1, "echo"), time.Minute, time.Minute)
		receive(t, g.entered)
	}
	raw.send(t, "3", toolCall(3, "echo"), time.Minute, time.Minute)
	var bounced []string
	for len(bounced) == 0 {
		if attempt, frame, _ := raw.next(t); !strings.HasPrefix(frame, "a") {
			bounced = append(bounced, attempt, frame)
		}
	}
	assert.Equal(t, []string{"3", "b-1-0"}, bounced)
	close(g.leave)
	for answers := 0; answers < 2; {
		if attempt, frame, _ := raw.next(t); strings.HasPrefix(frame, "r") {
			assert.NotEqual(t, "3", attempt)
			answers++
		}
	}
	assert.Empty(t, g.entered, "the third was never started")
}

// TestBouncedRequestIsServedWhenASlotIsFree has two ingresses with one slot
// between them: the one that was bounced hears when it is free.
func TestBouncedRequestIsServedWhenASlotIsFree(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	first := openClient(t, s, bus.ClientConfig{})
	g := busyWorker(t, s, first)
	second := openClient(t, s, bus.ClientConfig{})
	knows(t, second, 1)
	response := handle(t, second, request(t, 2, "echo"))
	queued(t, second, 1)
	g.leave <- struct{}{}
	assert.Equal(t, jsonrpc.ID("2"), receive(t, g.entered).ID)
	close(g.leave)
	assert.Zero(t, receive(t, response).Code)
	assert.Empty(t, g.entered)
}

// TestFreeSlotIsToldAtOnce holds that who was bounced does not have to wait for
// the next advert that is due: twenty rounds of that would take seconds.
func TestFreeSlotIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 1, g.handle)
	raw := newRawIngress(t, s, w)
	adverts := make(chan *nats.Msg, 1000)
	_, err := raw.ChanSubscribe("mcp.v1.test.default.adv."+w.ID(), adverts)
	require.NoError(t, err)
	began := time.Now()
	for i := range 20 {
		raw.send(t, "runs"+strconv.Itoa(i), toolCall(1, "echo"), time.Minute, time.Minute)
		receive(t, g.entered)
		raw.send(t, "bounced"+strconv.Itoa(i), toolCall(2, "echo"), time.Minute, time.Minute)
		for attempt := ""; !strings.HasPrefix(attempt, "bounced"); {
			attempt, _, _ = raw.next(t)
		}
		for len(adverts) > 0 {
			<-adverts
		}
		g.leave <- struct{}{}
		for free := false; !free; {
			free = strings.Contains(string(receive(t, adverts).Data), `"free":1`)
		}
	}
	assert.Less(t, time.Since(began), 2*time.Second)
}

func TestNoWorkers(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	c := openClient(t, s, bus.ClientConfig{})
	began := time.Now()
	res := c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t))
	assert.Equal(t, mcp.CodeNoWorkers, res.Code)
	assert.GreaterOrEqual(t, time.Since(began), time.Second)
	assert.Less(t, time.Since(began), 3*time.Second)
	assert.Equal(t, time.Second, res.RetryAfter)
	assert.True(t, *decode(t, res.Body).Error.Data.Retryable)
	assert.Zero(t, c.Pools(), "anyone can ask for any name")
}

func TestWorkerThatAppearsServesWhoWaits(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	conn := bustest.Connect(t, s)
	c := openClient(t, s, bus.ClientConfig{})
	response := handle(t, c, request(t, 1, "echo"))
	queued(t, c, 1)
	startWorkerWith(t, conn, bus.ConsumerConfig{Address: address, Version: "1.2.3"}, result)
	assert.Zero(t, receive(t, response).Code)
}
