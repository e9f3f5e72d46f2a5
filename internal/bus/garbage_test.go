package bus_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
)

var garbage = []string{
	"", " ", "\x00\xff\xfe", "cancel", "cancel ", "dance 1 2 3", "{}", "[]", "null", `{"state":"up"}`, "{", strings.Repeat("[", 100_000),
	`{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":null,"method":"tools/call"}`, `{"jsonrpc":"2.0","method":"tools/call"}`,
}

// TestGarbage sends what nobody should to every subject there is.
func TestGarbage(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, stop := startWorker(t, s, 2, result)
	c := openClient(t, s, bus.ClientConfig{})
	knows(t, c, 1)
	raw := newRawIngress(t, s, w)
	replies := []string{
		"", "nobody", "mcp.v1", "mcp.v1.test.r.", "mcp.v1.test.r.X", "mcp.v1.test.r.X.0", "mcp.v1.test.r.X.0.", "mcp.v1.test.r...",
		"mcp.v1.test.r.X.0.i.1", c.ReplyPrefix() + "i.1", c.ReplyPrefix() + "a.zz",
	}
	soon := time.Now().Add(time.Hour).UnixMilli()
	bodies := slices.Clone(garbage)
	for _, trailer := range []string{"", "1", "1 ", " s-1-2", "0 s-1-2", "zz s-1-9999999999999", "! r-1-1", "1 r-1-1", "1 q-1-1", fmt.Sprintf("zz s-%d-%d", soon, soon)} {
		bodies = append(bodies, "\n"+trailer, toolCall(1, "echo")+"\n"+trailer)
	}
	for _, body := range bodies {
		for _, subject := range []string{
			raw.worker + ".ctl", raw.worker + ".call.echo", raw.worker + ".call._.more.tokens", "mcp.v1.test.default.q._",
			"mcp.v1.test.default.adv.W1", "mcp.v1.test.stranger.adv.W1", "mcp.v1.test.default.adv." + w.ID(),
			c.ReplyPrefix() + "a", c.ReplyPrefix() + "a.1", c.ReplyPrefix() + "i.1", c.ReplyPrefix() + "p.W", c.ReplyPrefix() + "!.x.y.z",
			"$SRV.PING", "$SRV.INFO", "$SRV.STATS",
		} {
			for _, reply := range replies {
				if reply == "" {
					require.NoError(t, raw.Publish(subject, []byte(body)))
				} else {
					require.NoError(t, raw.PublishRequest(subject, reply, []byte(body)))
				}
			}
		}
	}
	require.NoError(t, raw.Flush())
	for i := range 20 {
		assert.Zero(t, c.Handle(t.Context(), request(t, i, "echo"), noNotifications(t)).Code)
	}
	assert.Equal(t, 1, c.Workers(address.Pool))
	assert.Equal(t, 1, c.Pools(), "a stranger's advert that cannot be read makes no pool")
	require.Eventually(t, func() bool { return w.Kept() == 0 }, bustest.Patience, time.Millisecond)
	require.NoError(t, stop())
}

// TestFaultyRequestsAreAnswered has an ingress that does not parse what it
// sends.
func TestFaultyRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	w, _ := startWorker(t, s, 1, result)
	raw := newRawIngress(t, s, w)
	for body, code := range map[string]string{
		"{":                        "-32700",
		"[]":                       "-32600",
		`{"jsonrpc":"2.0","id":1}`: "-32600",
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`: "-32600",
	} {
		raw.send(t, strconv.Itoa(len(body)), body, time.Minute, time.Minute)
		_, frame, response := raw.next(t)
		assert.Equal(t, "r-1-1-"+code, frame)
		assert.Contains(t, response, code)
	}
}

// TestReplySubjectsThatLeaveNoRoomAreIgnored holds that nobody can make a worker
// write a line for which NATS closes its connection.
func TestReplySubjectsThatLeaveNoRoomAreIgnored(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	conn := bustest.Connect(t, s)
	short := bus.Address{Realm: "a", Pool: "b"}
	w, _ := startWorkerWith(t, conn, bus.ConsumerConfig{Address: short, Version: "1.2.3"}, result)
	nc := rawConn(t, s)
	far := time.Now().Add(time.Hour).UnixMilli()
	terms := fmt.Sprintf("s-%d-%d", far, far)
	const inbox = ".0.i.1"
	const subject, longestLine = "mcp.v1.a.b.q._", 4096
	for _, room := range []int{4, 5, 10, 100, 3000} {
		reply := "mcp.v1.a.r." + strings.Repeat("I", longestLine-len(subject)-len("mcp.v1.a.r.")-len(inbox)-room) + inbox
		require.NoError(t, nc.PublishRequest(subject, reply, []byte(trailed("{", "1", terms))))
	}
	_, err := nc.Request(subject, []byte(toolCall(1, "echo")), bustest.Patience)
	require.NoError(t, err)
	require.NoError(t, conn.FlushTimeout(bustest.Patience))
	assert.True(t, w.Ready())
}

// TestTermsThatCannotBeReadRunNothing holds that no handler runs whose replies its
// ingress could not read.
func TestTermsThatCannotBeReadRunNothing(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	var ran ledger
	w, stop := startWorker(t, s, 64, ran.handle)
	raw := newRawIngress(t, s, w)
	for i, trailer := range []string{
		"1", "1 ", "1 s-1", "1 z-1-2", "1 s--1-9", "1 s-99999999999999999999-1", ".", "1 s-9999999999999-9999999999999 r-1-1",
		"0 s-9999999999999-9999999999999", "s-9999999999999-9999999999999", "1  s-9999999999999-9999999999999", "1 s-9999999999999-9999999999999\n",
	} {
		for _, message := range []string{toolCall(i+2, "echo"), toolCall(i+2, "echo") + "\n" + trailer} {
			require.NoError(t, raw.PublishRequest(raw.worker+".call.echo", "mcp.v1.test.r.I.0.i.1", []byte(message)))
			require.NoError(t, raw.PublishRequest("mcp.v1.test.default.q.echo", "mcp.v1.test.r.I.0.i.1", []byte(message)))
		}
	}
	_, err := raw.Request("mcp.v1.test.default.q.echo", []byte(toolCall(0, "echo")), bustest.Patience)
	require.NoError(t, err)
	require.NoError(t, raw.Flush())
	require.NoError(t, stop(), "which takes in all that was sent")
	ran.requireOnce(t, 1)
}
