package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// TestInboxIsUsedAgain holds that a request gets what it is answered with, and not
// what the one before it was, although both have one reply subject.
func TestInboxIsUsedAgain(t *testing.T) {
	t.Parallel()
	_, dead, c := deadPool(t)
	first := handle(t, c, request(t, 1, "echo"))
	m1 := receive(t, dead.calls)
	dead.reply(t, m1, "r-1-1000", `"first"`, "")
	assert.Equal(t, &mcp.Response{Body: []byte(`"first"`)}, receive(t, first))

	second := handle(t, c, request(t, 2, "echo"))
	m2 := receive(t, dead.calls)
	assert.Equal(t, m1.Reply, m2.Reply)
	dead.reply(t, m1, "r-1-1000", `"first"`, "")
	dead.reply(t, m1, "b-2-0", "", "") // with what follows no more than an inbox has room for
	dead.reply(t, m2, "r-1-1000", `"second"`, "")
	assert.Equal(t, &mcp.Response{Body: []byte(`"second"`)}, receive(t, second))
	assert.Equal(t, 1, c.Inboxes())
}

// TestInboxOfAnAbandonedRequestIsNotUsedAgain holds that what NATS still has to say
// of a request is not taken for word of another.
func TestInboxOfAnAbandonedRequestIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	_, dead, c := deadPool(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone := handleUntil(ctx, t, c, request(t, 1, "echo"))
	m1 := receive(t, dead.calls)
	cancel()
	receive(t, gone)
	assert.Zero(t, c.Inboxes())

	response := handle(t, c, request(t, 2, "echo"))
	m2 := receive(t, dead.calls)
	assert.NotEqual(t, m1.Reply, m2.Reply)
	dead.reply(t, m1, "r-1-1000", `"first"`, "")
	dead.reply(t, m2, "r-1-1000", `"second"`, "")
	assert.Equal(t, &mcp.Response{Body: []byte(`"second"`)}, receive(t, response))
}

// TestRequestsWithoutAnInbox holds that there may be more requests than inboxes.
func TestRequestsWithoutAnInbox(t *testing.T) {
	t.Parallel()
	s, dead, c := deadPool(t)
	giveBack := c.TakeAllInboxes()
	response := handle(t, c, request(t, 1, "pay"))
	m := receive(t, dead.calls)
	_, attempt, _ := untrailed(t, m)
	assert.Equal(t, c.ReplyPrefix()+"a."+attempt, m.Reply)
	dead.reply(t, m, "r-1-1000", `{}`, "")
	assert.Equal(t, &mcp.Response{Body: []byte(`{}`)}, receive(t, response))

	dead.Close()
	(&rawIngress{Conn: rawConn(t, s), worker: "mcp.v1.test.default.w.DEAD"}).waitUntilGone(t)
	refused := c.Handle(t.Context(), request(t, 2, "pay"), noNotifications(t))
	assert.Equal(t, mcp.CodeNoWorkers, refused.Code)
	giveBack()
	assert.Zero(t, c.Kept())
}

// TestManyRequestsAtOnce has more requests than inboxes for real.
func TestManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	const requests = 1500
	s := bustest.StartServer(t)
	g := newGate()
	g.entered = make(chan *mcp.Request, requests)
	_, _ = startWorkerWith(t, bustest.Connect(t, s), bus.ConsumerConfig{Address: address, Slots: requests}, g.handle)
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	var responses []<-chan *mcp.Response
	for i := range requests {
		responses = append(responses, handle(t, c, request(t, i, "echo")))
	}
	for range requests {
		receive(t, g.entered)
	}
	close(g.leave)
	for i, response := range responses {
		res := receive(t, response)
		require.Zero(t, res.Code)
		require.Contains(t, string(res.Body), fmt.Sprintf(`"id":%d`, i))
	}
	require.Eventually(t, func() bool { return c.Kept() == 0 }, bustest.Patience, time.Millisecond)
	assert.Equal(t, 1024, c.Inboxes())
}
