package proxy_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/test/chaos/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A line is a connection to a server through a proxy, and what arrives at the
// other side of the server.
type line struct {
	proxy    *proxy.Proxy
	near     *nats.Conn
	arriving *nats.Subscription
	closed   chan struct{} // when near is
}

func open(t *testing.T) *line {
	t.Helper()
	server := bustest.StartServer(t)
	p, err := proxy.Listen(t.Context(), strings.TrimPrefix(server.ClientURL(), "nats://"))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	l := &line{proxy: p, closed: make(chan struct{})}
	l.near, err = nats.Connect(p.Addr(), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(l.closed) }))
	require.NoError(t, err)
	t.Cleanup(l.near.Close)
	far := bustest.Connect(t, server)
	l.arriving, err = far.SubscribeSync(">")
	require.NoError(t, err)
	require.NoError(t, far.Flush())
	return l
}

// next is the next message that arrives, as its subject and its body.
func (l *line) next(t *testing.T) string {
	t.Helper()
	m, err := l.arriving.NextMsg(10 * time.Second)
	require.NoError(t, err)
	return m.Subject + " " + string(m.Data)
}

func TestMessagesPassInBothDirections(t *testing.T) {
	l := open(t)
	back, err := l.near.SubscribeSync("a")
	require.NoError(t, err)
	body := strings.Repeat("PUB x 1\r\n", 100_000) // larger than every buffer
	require.NoError(t, l.near.PublishMsg(&nats.Msg{Subject: "a", Data: []byte(body), Header: nats.Header{"H": {"v"}}}))
	assert.Equal(t, "a "+body, l.next(t))
	m, err := back.NextMsg(10 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, body, string(m.Data))
	assert.Equal(t, "v", m.Header.Get("H"))
}

func TestAlter(t *testing.T) {
	l := open(t)
	back, err := l.near.SubscribeSync(">")
	require.NoError(t, err)
	require.NoError(t, l.near.Flush())
	l.proxy.Alter(func(subject string, message []byte) []byte {
		if subject == "lost" {
			return nil
		}
		return bytes.Replace(message, []byte("near"), []byte("rear"), 1)
	})
	for _, subject := range []string{"lost", "kept"} {
		require.NoError(t, l.near.Publish(subject, []byte("near near")))
	}
	assert.Equal(t, "kept rear near", l.next(t))
	m, err := back.NextMsg(10 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, "rear rear", string(m.Data), "on its way back too")
	l.proxy.Alter(nil)
	require.NoError(t, l.near.Publish("lost", []byte("near")))
	assert.Equal(t, "lost near", l.next(t))
}

func TestStall(t *testing.T) {
	l := open(t)
	l.proxy.Stall()
	l.proxy.Stall()
	require.NoError(t, l.near.Publish("a", []byte("body")))
	require.ErrorIs(t, l.near.FlushTimeout(100*time.Millisecond), nats.ErrTimeout)
	l.proxy.Resume()
	assert.Equal(t, "a body", l.next(t))
	assert.NoError(t, l.near.Flush())
}

func TestSlow(t *testing.T) {
	l := open(t)
	start := time.Now()
	l.proxy.Slow(1_000_000)
	require.NoError(t, l.near.Publish("a", make([]byte, 200_000)))
	l.next(t)
	assert.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)
	l.proxy.Slow(0)
	assert.NoError(t, l.near.Flush())
}

// What is stalled does not keep the proxy from closing, and clients see it as the
// loss of their server.
func TestClose(t *testing.T) {
	l := open(t)
	l.proxy.Stall()
	require.NoError(t, l.near.Publish("a", nil))
	require.ErrorIs(t, l.near.FlushTimeout(100*time.Millisecond), nats.ErrTimeout)
	l.proxy.Close()
	<-l.closed
}
