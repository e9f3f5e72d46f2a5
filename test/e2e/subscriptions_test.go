package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/test/process"
	"github.com/mcpyard/mcpyard/test/wire"
)

// What messages of the subscription "r-1" of HTTP clients look like.
const (
	subscriptionTag  = `"_meta":{"io.modelcontextprotocol/subscriptionId":"r-1"`
	resourcesChanged = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{` + subscriptionTag + `}}}`
	subscriptionEnd  = `{"jsonrpc":"2.0","id":"r-1","result":{"resultType":"complete",` + subscriptionTag +
		`,"io.modelcontextprotocol/serverInfo":{"name":"mcpyard","version":"0.1.0"}}}}`
)

func listenTo(filter string) post {
	return strict("subscriptions/listen", "", `"notifications":`+filter)
}

// listen opens a stream and waits until it is acknowledged with that filter.
func (c *caller) listen(t testing.TB, filter string) *stream {
	t.Helper()
	return c.listenUntil(t.Context(), t, filter)
}

func (c *caller) listenUntil(ctx context.Context, t testing.TB, filter string) *stream {
	t.Helper()
	s, err := c.open(ctx, listenTo(filter))
	require.NoError(t, err)
	t.Cleanup(func() { s.Body.Close() })
	require.Equal(t, "text/event-stream", s.Header.Get("Content-Type"))
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+subscriptionTag+
		`},"notifications":`+filter+`}}`, s.message(t))
	return s
}

// message returns the next message, which must come and be as the schema says.
func (s *stream) message(t testing.TB) string {
	t.Helper()
	m, ok := s.next()
	require.True(t, ok, "%v", s.lines.Err())
	require.NoError(t, s.check(m))
	return string(m)
}

func (c *caller) createNote(t testing.TB) (created note) {
	t.Helper()
	c.ask(t, createNote("n")).structured(t, &created)
	return created
}

func (c *caller) deleteNote(t testing.TB, n note) {
	t.Helper()
	_, err := c.ask(t, strict("tools/call", "notes_delete", fmt.Sprintf(`"name":"notes_delete","arguments":{"id":%q},`+
		`"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`, n.ID))).text()
	require.NoError(t, err)
}

// A change that any worker makes reaches those who listen, on every ingress.
func TestChangesReachListenersOnEveryIngress(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	f := startFleet(t, inProcess, server.ClientURL(), 2)
	second := startFleet(t, inProcess, server.ClientURL(), 0)
	second.awaitWorkers(t, 2)
	n := f.createNote(t)

	const lists = `{"resourcesListChanged":true}`
	one := fmt.Sprintf(`{"resourceSubscriptions":["notes://%s"]}`, n.ID)
	streams := []*stream{f.listen(t, lists), second.listen(t, lists)}
	watchers := []*stream{f.listen(t, one), second.listen(t, one)}
	tools := f.listen(t, `{"toolsListChanged":true}`)

	for _, creator := range []*fleet{f, second, f, second} { // both workers are asked
		creator.createNote(t)
		for _, s := range streams {
			assert.Equal(t, resourcesChanged, s.message(t))
		}
	}
	f.deleteNote(t, n)
	for i := range streams {
		assert.Equal(t, resourcesChanged, streams[i].message(t))
		assert.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{%s},"uri":"notes://%s"}}`,
			subscriptionTag, n.ID), watchers[i].message(t), "and nothing before it")
	}
	f.ingress.Terminate()
	assert.Equal(t, subscriptionEnd, tools.message(t), "nothing that was not asked for")
	assert.NoError(t, f.ingress.wait(t))
}

// An ingress that is told to stop ends its streams with a response, and does not
// wait for the grace period.
func TestStopEndsSubscriptions(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]launcher{"in process": inProcess, "as process": asProcess} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := bustest.StartServer(t)
			f := startFleet(t, start, server.ClientURL(), 1, "-grace", "10m")
			streams := []*stream{f.listen(t, `{"toolsListChanged":true}`), f.listen(t, `{}`)}
			f.ingress.Terminate()
			for _, s := range streams {
				a, err := s.rest()
				require.NoError(t, err)
				assert.Len(t, a.messages, 1)
				assert.Equal(t, subscriptionEnd, a.response())
			}
			assert.NoError(t, f.ingress.wait(t))
		})
	}
}

// A stream is the ingress's: workers come and go meanwhile.
func TestSubscriptionsOutliveWorkers(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	f := startFleet(t, inProcess, server.ClientURL(), 0)
	first := inProcess(t, "worker", "-nats", server.ClientURL(), "-slots", "1")
	f.awaitWorkers(t, 1)
	streams := []*stream{f.listen(t, `{"resourcesListChanged":true}`), f.listen(t, `{"resourcesListChanged":true}`)}
	allChanged := func() {
		t.Helper()
		for _, s := range streams {
			assert.Equal(t, resourcesChanged, s.message(t))
		}
	}
	f.createNote(t) // streams take no slot
	allChanged()
	first.Terminate()
	require.NoError(t, first.wait(t))
	inProcess(t, "worker", "-nats", server.ClientURL())
	allChanged() // as far as anyone can tell, after a time without workers
	f.createNote(t)
	allChanged()
}

// Workers with other tools tell clients so by coming, and by being alone at last.
func TestADeploymentTellsListeners(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	f := startFleet(t, inProcess, server.ClientURL(), 1)
	s := f.listen(t, `{"toolsListChanged":true}`)
	toolsChanged := strings.Replace(resourcesChanged, "resources", "tools", 1)
	inProcess(t, "worker", "-nats", server.ClientURL(), "-toolsets", "notes")
	assert.Equal(t, toolsChanged, s.message(t))
	f.workers[0].Terminate()
	assert.Equal(t, toolsChanged, s.message(t))
	assert.NotContains(t, f.ask(t, strict("tools/list", "", "")).response(), `"echo"`)
}

func TestListenersAreBounded(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]struct{ status, code int }{
		"-max-subscriptions":               {http.StatusServiceUnavailable, -31001},
		"-max-subscriptions-per-principal": {http.StatusTooManyRequests, -31005},
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			p := inProcess(t, "ingress", "-local", "-http", "127.0.0.1:0", "-ops", "127.0.0.1:0", flag, "1")
			f := &fleet{caller: newCaller(t, p.says(t, process.SaysClients)), ingress: p}
			ctx, gone := context.WithCancel(t.Context())
			defer gone()
			f.listenUntil(ctx, t, `{"toolsListChanged":true}`)
			assert.Equal(t, 1, f.subscriptions(t))
			a := f.ask(t, listenTo(`{"toolsListChanged":true}`))
			assert.Equal(t, want.status, a.status)
			assert.Equal(t, want.code, a.code(t))
			assert.Equal(t, "10", a.header.Get("Retry-After"))

			gone() // which frees the place
			eventually(t, func() bool { return f.subscriptions(t) == 0 })
			f.listen(t, `{"toolsListChanged":true}`)
		})
	}
}

// subscriptions is how many the ingress holds, by its own word.
func (f *fleet) subscriptions(t testing.TB) int {
	t.Helper()
	_, s := f.readiness(t, f.ingress)
	return s.Counters["subscriptions"]
}

func TestTheDeadlineIsNotForSubscriptions(t *testing.T) {
	t.Parallel()
	p := inProcess(t, "ingress", "-local", "-http", "127.0.0.1:0", "-deadline", "500ms")
	c := newCaller(t, p.says(t, process.SaysClients))
	s := c.listen(t, `{"resourcesListChanged":true}`)
	require.Equal(t, -31003, c.ask(t, endless()).code(t)) // sent later, and over by now
	c.createNote(t)
	assert.Equal(t, resourcesChanged, s.message(t))
}

func TestWhatCannotBeListenedFor(t *testing.T) {
	t.Parallel()
	p := inProcess(t, "ingress", "-local", "-http", "127.0.0.1:0", "-toolsets", "basics")
	c := newCaller(t, p.says(t, process.SaysClients))
	assert.Contains(t, c.ask(t, strict("server/discover", "", "")).response(), `"capabilities":{"tools":{"listChanged":true}`)

	s, err := c.open(t.Context(), listenTo(`{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["notes://x"]}`))
	require.NoError(t, err)
	defer s.Body.Close()
	assert.Contains(t, s.message(t), `"notifications":{"toolsListChanged":true}}`, "the basics have nothing else")

	for _, tt := range []struct {
		post         post
		status, code int
	}{
		{listenTo(`{"toolsListChanged":"yes"}`), http.StatusOK, -32602},
		{strict("subscriptions/listen", "", ""), http.StatusOK, -32602},
		{contract("subscriptions/listen", `"notifications":{"toolsListChanged":true}`), http.StatusNotFound, -32601},
		{listenTo(`{}`).in("nobody"), http.StatusServiceUnavailable, -31002},
	} {
		a := c.ask(t, tt.post)
		assert.Equal(t, tt.status, a.status, tt.post.body)
		assert.Equal(t, tt.code, a.code(t), tt.post.body)
	}
}

// Over stdio, subscriptions share the channel; the id tells them apart.
func TestStdioSubscriptions(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *host){
		"end of input": func(t *testing.T, h *host) { require.NoError(t, h.in.Close()) },
		"signal":       func(_ *testing.T, h *host) { h.Terminate() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, "-grace", "10m")
			for id := 1; id <= 2; id++ {
				h.write(t, line(id, "subscriptions/listen", `"notifications":{"resourcesListChanged":true}`))
				assert.Equal(t, stdioMessage("notifications/subscriptions/acknowledged", id, `,"notifications":{"resourcesListChanged":true}`), h.mustLine(t))
			}
			h.write(t, line(3, "tools/call", `"name":"notes_create","arguments":{"title":"n","body":""}`))
			messages := []string{h.mustLine(t), h.mustLine(t), h.mustLine(t)}
			assert.Contains(t, messages, stdioMessage("notifications/resources/list_changed", 1, ""))
			assert.Contains(t, messages, stdioMessage("notifications/resources/list_changed", 2, ""))

			h.write(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			h.write(t, line(4, "tools/call", `"name":"notes_create","arguments":{"title":"n","body":""}`))
			messages = []string{h.mustLine(t), h.mustLine(t)}
			assert.Contains(t, messages, stdioMessage("notifications/resources/list_changed", 2, ""), "and nothing for 1")

			end(t, h)
			cancelled, response := h.mustLine(t), h.mustLine(t)
			assert.Equal(t, stdioMessage("notifications/cancelled", 2, `,"requestId":2`), cancelled)
			assert.Contains(t, response, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":2,`)
			wire.Check(t, "subscriptions/listen", []byte(cancelled))
			wire.Check(t, "subscriptions/listen", []byte(response))
			_, more := h.line(t)
			assert.False(t, more)
			assert.Zero(t, h.exitCode(t))
		})
	}
}

// stdioMessage is a notification of the subscription id; members are those of
// params beside _meta, each after a comma.
func stdioMessage(method string, id int, members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%d}%s}}`, method, id, members)
}

// mustLine returns the next line, which must come.
func (h *host) mustLine(t testing.TB) string {
	t.Helper()
	line, ok := h.line(t)
	require.True(t, ok)
	return line
}
