package e2e

import (
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
)

// A restartable is a nats-server that can be stopped and started again on the
// same port and with the same store.
type restartable struct {
	cfg    embedded.Config
	server *embedded.Server
}

func startRestartable(t testing.TB) *restartable {
	t.Helper()
	r := &restartable{cfg: embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"}}
	r.start(t)
	r.cfg.Listen = strings.TrimPrefix(r.server.ClientURL(), "nats://")
	t.Cleanup(func() { r.server.Close() })
	return r
}

func (r *restartable) start(t testing.TB) {
	t.Helper()
	server, err := embedded.Start(r.cfg, bustest.Log(t))
	require.NoError(t, err)
	r.server = server
}

func TestNATSGoesAndComesBack(t *testing.T) {
	t.Parallel()
	nats := startRestartable(t)
	f := startFleet(t, inProcess, nats.server.ClientURL(), 2)
	f.become(t, http.StatusOK)
	_, err := f.ask(t, createNote("kept")).text()
	require.NoError(t, err)
	running, err := f.open(t.Context(), tool("slow", `{"seconds":1}`))
	require.NoError(t, err)
	_, ok := running.next()
	require.True(t, ok, "progress, so it runs")

	nats.server.Close()
	for _, s := range f.become(t, http.StatusServiceUnavailable) {
		assert.False(t, s.Ready)
		assert.Contains(t, s.Reason, "no connection to NATS")
	}
	waiting := f.sendNow(t, listNotes())

	nats.start(t)
	for _, s := range f.become(t, http.StatusOK) {
		assert.True(t, s.Ready)
		assert.Empty(t, s.Reason)
		assert.Positive(t, s.Counters["reconnects"])
	}

	assert.Equal(t, map[string]int{"kept": 1}, titles(t, <-waiting), "a request of meanwhile")
	rest, err := running.rest()
	require.NoError(t, err)
	text, err := rest.text()
	require.NoError(t, err, "a call that was running")
	assert.Equal(t, "Waited for 1 seconds.", text)
	assert.Equal(t, map[string]int{"kept": 1}, titles(t, f.ask(t, listNotes())))
}

// become waits until each program of the fleet answers operators with status, and
// returns what else they said.
func (f *fleet) become(t testing.TB, want int) (all []readiness) {
	t.Helper()
	for _, p := range append([]*program{f.ingress}, f.workers...) {
		var s readiness
		eventually(t, func() bool {
			var status int
			status, s = f.readiness(t, p)
			return status == want
		})
		all = append(all, s)
	}
	return all
}

// sendNow returns when the whole request is on its way. The answer comes on the
// channel.
func (c *caller) sendNow(t testing.TB, p post) <-chan answer {
	t.Helper()
	written := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { close(written) },
	})
	answers := make(chan answer, 1)
	go func() {
		a, err := c.send(ctx, p)
		assert.NoError(t, err)
		answers <- a
	}()
	<-written
	return answers
}
