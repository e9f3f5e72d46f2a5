package bus_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
)

// An advert is what these tests look at in one.
type advert struct {
	State                 string
	Free, TimeMs, TempoMs int64
}

// adverts subscribes to those of w.
func adverts(t testing.TB, nc *nats.Conn, w *bus.Consumer) (next func() advert) {
	t.Helper()
	msgs := make(chan *nats.Msg, 1000)
	_, err := nc.ChanSubscribe("mcp.v1.test.default.adv."+w.ID(), msgs)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	return func() (a advert) {
		t.Helper()
		require.NoError(t, json.Unmarshal(receive(t, msgs).Data, &a))
		return a
	}
}

func TestAWorkerKeepsTheTempoThatItIsTold(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	w, _ := startWorker(t, s, 1, g.handle)
	raw := newRawIngress(t, s, w)
	next := adverts(t, raw.Conn, w)
	first := next()
	assert.Equal(t, int64(8), first.TempoMs)
	for _, word := range []string{"tempo", "tempo x", "tempo 8"} {
		raw.control(t, word)
	}
	raw.control(t, "tempo 4000 and what a later protocol has to say")
	slow := next()
	for slow.TempoMs == 8 { // one that was due meanwhile
		slow = next()
	}
	assert.Equal(t, int64(4000), slow.TempoMs, "it says so at once")

	raw.send(t, "runs", toolCall(1, "echo"), time.Minute, time.Minute)
	receive(t, g.entered)
	raw.send(t, "bounced", toolCall(2, "echo"), time.Minute, time.Minute)
	for attempt := ""; attempt != "bounced"; {
		attempt, _, _ = raw.next(t)
	}
	close(g.leave)
	edge := next()
	assert.Equal(t, int64(1), edge.Free)
	assert.GreaterOrEqual(t, edge.TimeMs-slow.TimeMs, int64(999), "a quarter of its tempo, whoever waits")
	assert.Less(t, edge.TimeMs-slow.TimeMs, int64(4000))
	regular := next()
	assert.GreaterOrEqual(t, regular.TimeMs-edge.TimeMs, int64(3999))
}

// TestAnIngressTellsTheTempo has a pool that is large, though only one of its workers
// does more than advertise.
func TestAnIngressTellsTheTempo(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, _ := startWorker(t, s, 1, result)
	nc := rawConn(t, s)
	next := adverts(t, nc, w)
	const others = 399
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	for i := range others {
		body := fmt.Appendf(nil, `{"state":"up","slots":1,"free":0,"timeMs":%d,"tempoMs":400}`, time.Now().UnixMilli())
		require.NoError(t, nc.Publish(fmt.Sprintf("mcp.v1.test.default.adv.X%d", i), body))
	}
	told := next()
	for told.TempoMs < 1+others { // some of the others may be heard of later than it
		told = next()
	}
	assert.LessOrEqual(t, told.TempoMs, int64(2*(1+others)))
	require.Zero(t, c.Handle(t.Context(), request(t, 1, "echo"), noNotifications(t)).Code, "it is found in the crowd")
}
