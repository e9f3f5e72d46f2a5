package bus_test

import (
	"context"
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

// ping asks the worker for an attempt that was sent just now.
func (r *rawIngress) ping(t testing.TB, attempt string) {
	t.Helper()
	message := fmt.Sprintf("ping %s-%d", attempt, time.Now().UnixMilli())
	require.NoError(t, r.PublishRequest(r.worker+".ctl", rawPrefix+"p.W", []byte(message)))
	require.NoError(t, r.Flush())
	m := receive(t, r.replies)
	assert.Equal(t, rawPrefix+"p.W", m.Subject)
	assert.True(t, strings.HasPrefix(string(m.Data), "\n0 p-1-"), "%s", m.Data)
}

func TestWorkerTellsOfAttempts(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 2, g.handle)
	raw := newRawIngress(t, s, w)

	raw.send(t, "7", toolCall(1, "echo"), time.Minute, time.Minute)
	receive(t, g.entered)
	_, frame, _ := raw.next(t)
	assert.Equal(t, "a-1-1", frame)
	raw.ping(t, "7") // it runs: there is nothing to tell

	g.leave <- struct{}{}
	_, frame, result := raw.next(t)
	assert.Equal(t, "r-2-2", frame)
	raw.ping(t, "7")
	attempt, frame, again := raw.next(t)
	assert.Equal(t, []string{"7", "r-2-2", result}, []string{attempt, frame, again})

	raw.ping(t, "8")
	attempt, frame, _ = raw.next(t)
	assert.Equal(t, []string{"8", "u-1-2"}, []string{attempt, frame})
	raw.send(t, "8", toolCall(2, "echo"), time.Minute, time.Minute)
	_, frame, _ = raw.next(t)
	assert.Equal(t, "x-1-2", frame, "what was unknown does not start any more")
	raw.send(t, "7", toolCall(1, "echo"), time.Minute, time.Minute)
	raw.ping(t, "9") // after it, since both are in order: no second run, no reply
	_, frame, _ = raw.next(t)
	assert.Equal(t, "u-1-2", frame)
	assert.Empty(t, g.entered)
}

// TestRequestsThatMayHaveRun holds that a worker runs those only for which it is
// no harm to run twice.
func TestRequestsThatMayHaveRun(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, _ := startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: address, Repeatable: repeatable}, result)
	raw := newRawIngress(t, s, w)
	for attempt, want := range map[string]string{"echo": "r-1-64", "pay": "o-1-64"} {
		raw.sendOn(t, raw.worker+".call."+attempt, toolCall(1, attempt), attempt, fmt.Sprintf("S-%d-%d", 1<<42, 1<<42))
		_, frame, _ := raw.next(t)
		assert.Equal(t, want, frame, attempt)
	}
}

func repeatable(req *mcp.Request) bool {
	name, _ := req.Target()
	return name == "echo"
}

// A deadWorker is known from its adverts, and does with requests and pings what
// the test wants.
type deadWorker struct {
	*nats.Conn
	calls, pings chan *nats.Msg
}

func startDeadWorker(t *testing.T, s *embedded.Server) *deadWorker {
	t.Helper()
	w := &deadWorker{Conn: rawConn(t, s), calls: make(chan *nats.Msg, 10), pings: make(chan *nats.Msg, 1000)}
	const prefix = "mcp.v1.test.default.w.DEAD"
	_, err := w.ChanSubscribe(prefix+".call.>", w.calls)
	require.NoError(t, err)
	_, err = w.ChanSubscribe(prefix+".ctl", w.pings)
	require.NoError(t, err)
	w.advertise(t)
	return w
}

// deadPool is a client that knows of no worker but a dead one.
func deadPool(t *testing.T) (*embedded.Server, *deadWorker, *bus.Client) {
	t.Helper()
	s := bustest.StartServer(t)
	dead := startDeadWorker(t, s)
	c := openClient(t, s, bus.ClientConfig{})
	dead.advertise(t)
	knows(t, c, 1)
	return s, dead, c
}

// advertise says that it has more free slots than anybody else.
func (w *deadWorker) advertise(t *testing.T) {
	t.Helper()
	body := fmt.Sprintf(`{"state":"up","slots":1000,"free":1000,"timeMs":%d}`, time.Now().UnixMilli())
	require.NoError(t, w.Publish("mcp.v1.test.default.adv.DEAD", []byte(body)))
	require.NoError(t, w.Flush())
}

// reply sends a frame to the inbox of the request in m or, if it is not the last, to
// where such replies go; with a body, or a claim to one.
func (w *deadWorker) reply(t testing.TB, m *nats.Msg, frame, body, claim string) {
	t.Helper()
	_, attempt, _ := untrailed(t, m)
	reply := &nats.Msg{Subject: m.Reply, Data: []byte(trailed(body, attempt, frame)), Header: nats.Header{}}
	if claim != "" || strings.Contains("nuf", frame[:1]) {
		reply.Subject = strings.Join(strings.Split(m.Reply, ".")[:6], ".") + ".a." + attempt
	}
	if claim != "" {
		reply.Header.Set("Mcp-Blob", claim)
	}
	require.NoError(t, w.PublishMsg(reply))
	require.NoError(t, w.Flush())
}

// nextCall returns the next request. Until then it sends adverts now and then, as
// workers do: one of them may be overtaken by what an earlier request was told.
func (w *deadWorker) nextCall(t *testing.T) *nats.Msg {
	t.Helper()
	late := time.After(bustest.Patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case m := <-w.calls:
			return m
		case <-tick.C:
			w.advertise(t)
		case <-late:
			require.Fail(t, "no request came in time")
		}
	}
}

// waitForPing returns the first ping that asks for an attempt.
func (w *deadWorker) waitForPing(t *testing.T) *nats.Msg {
	t.Helper()
	for {
		if m := receive(t, w.pings); len(strings.Fields(string(m.Data))) > 1 {
			return m
		}
	}
}

func TestRequestThatGotLost(t *testing.T) {
	t.Parallel()
	s, dead, c := deadPool(t)
	response := handle(t, c, request(t, 1, "pay"))
	m := receive(t, dead.calls)
	var ran ledger
	startWorker(t, s, 1, ran.handle)
	knows(t, c, 2)
	dead.waitForPing(t)
	dead.reply(t, m, "u-1-0", "", "")
	assert.Zero(t, receive(t, response).Code)
	ran.requireOnce(t, 1)
}

func TestResultThatGotLost(t *testing.T) {
	t.Parallel()
	_, dead, c := deadPool(t)
	response := handle(t, c, request(t, 1, "pay"))
	m := receive(t, dead.calls)
	dead.waitForPing(t)
	dead.reply(t, m, "r-1-1000", `{}`, "")
	assert.Equal(t, &mcp.Response{Body: []byte(`{}`)}, receive(t, response))
}

// TestResultThatIsForgotten holds that what may have run is not run again, unless
// that is no harm.
func TestResultThatIsForgotten(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]int{"pay": mcp.CodeOutcomeUnknown, "echo": 0} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			s, dead, c := deadPool(t)
			response := handle(t, c, request(t, 1, tool))
			m := receive(t, dead.calls)
			var ran ledger
			startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: address, Slots: 2000, Repeatable: repeatable}, ran.handle)
			knows(t, c, 2)
			dead.waitForPing(t)
			dead.reply(t, m, "f-1-0", "", "")
			assert.Equal(t, want, receive(t, response).Code)
			if want == 0 {
				ran.requireOnce(t, 1)
			} else {
				ran.requireOnce(t, 0)
			}
		})
	}
}

// TestWorkerIsLost has a worker vanish, or freeze, with two calls in flight.
func TestWorkerIsLost(t *testing.T) {
	t.Parallel()
	for name, vanish := range map[string]func(*deadWorker){
		"vanishes": func(w *deadWorker) { w.Close() },
		"freezes":  func(*deadWorker) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dead, c := deadPool(t)
			pay, echo := handle(t, c, request(t, 1, "pay")), handle(t, c, request(t, 2, "echo"))
			receive(t, dead.calls)
			receive(t, dead.calls)
			var ran ledger
			startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: address, Repeatable: repeatable}, ran.handle)
			vanish(dead)
			lost := receive(t, pay)
			assert.Equal(t, mcp.CodeOutcomeUnknown, lost.Code)
			assert.False(t, *decode(t, lost.Body).Error.Data.Retryable)
			assert.Zero(t, receive(t, echo).Code)
			ran.requireOnce(t, 1)
			assert.Equal(t, 1, c.Workers(address.Pool))
			require.Eventually(t, func() bool { return c.Kept() == 0 }, bustest.Patience, time.Millisecond)
		})
	}
}

// TestSecondRunDoesNotRepeatProgress holds that progress never goes back.
func TestSecondRunDoesNotRepeatProgress(t *testing.T) {
	t.Parallel()
	s, dead, c := deadPool(t)
	notified := make(chan string, 10)
	response := make(chan *mcp.Response, 1)
	req := request(t, 1, "echo")
	go func() {
		response <- c.Handle(t.Context(), req, func(n []byte) { notified <- string(n) })
	}()
	m := receive(t, dead.calls)
	dead.reply(t, m, "n-1-0", "first run", "")
	assert.Equal(t, "first run", receive(t, notified))
	startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: address, Repeatable: repeatable},
		func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			notify([]byte("second run"))
			return result(ctx, req, notify)
		})
	dead.Close()
	assert.Zero(t, receive(t, response).Code)
	assert.Empty(t, notified)
}

// TestSilentWorkerIsNotChosen holds that what comes after a worker has left a ping
// unanswered goes to others, although it still seems to have the most free slots.
func TestSilentWorkerIsNotChosen(t *testing.T) {
	t.Parallel()
	s, dead, c := deadPool(t)
	var ran ledger
	startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: address, Repeatable: repeatable}, ran.handle)
	knows(t, c, 2)
	lost := handle(t, c, request(t, 1, "echo"))
	receive(t, dead.calls)
	require.Eventually(t, func() bool { return c.Workers(address.Pool) == 1 }, bustest.Patience, time.Millisecond)
	for i := range 10 {
		assert.Zero(t, c.Handle(t.Context(), request(t, i+2, "pay"), noNotifications(t)).Code)
	}
	assert.Empty(t, dead.calls)
	assert.Zero(t, receive(t, lost).Code)
	ran.requireOnce(t, 11)
}
