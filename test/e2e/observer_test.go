package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// An observer sees the requests to the pool "default" of the realm "main" on
// the bus, and which worker each is sent to. It uses nothing but NATS, as an
// operator would.
type observer struct {
	requests chan *nats.Msg
}

func observe(t testing.TB, url string) *observer {
	t.Helper()
	conn, err := nats.Connect(url, nats.Timeout(patience))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	o := &observer{requests: make(chan *nats.Msg, 64<<10)}
	_, err = conn.ChanSubscribe("mcp.v1.main.default.w.*.call.>", o.requests)
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	return o
}

// next returns the next request and the id of the worker that it was sent to.
func (o *observer) next(t testing.TB) (worker, body string) {
	t.Helper()
	select {
	case m := <-o.requests:
		message := string(m.Data)
		return strings.Split(m.Subject, ".")[5], message[:strings.LastIndexByte(message, '\n')] // without the trailer
	case <-time.After(patience):
		require.FailNow(t, "no request on the bus")
		return "", ""
	}
}
