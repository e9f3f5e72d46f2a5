package bus_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A told is what a client is told of an event.
type told struct {
	pool  string
	event mcp.Event
}

// listenForEvents opens an ingress's end of the bus, and returns what it is told.
func listenForEvents(t testing.TB, s *embedded.Server) <-chan told {
	t.Helper()
	events := make(chan told, 100)
	openClient(t, s, bus.ClientConfig{OnEvent: func(pool string, e mcp.Event) { events <- told{pool, e} }})
	return events
}

func publisher(t testing.TB, s *embedded.Server, a bus.Address) *bus.Publisher {
	t.Helper()
	return bus.NewPublisher(bustest.Connect(t, s), a, bustest.Log(t))
}

// What any worker publishes, every ingress of the realm hears, in order.
func TestEvents(t *testing.T) {
	s := bustest.StartServer(t)
	ingresses := []<-chan told{listenForEvents(t, s), listenForEvents(t, s)}
	other := bus.Address{Realm: address.Realm, Pool: "other"}
	workers := []*bus.Publisher{publisher(t, s, address), publisher(t, s, other)}
	stranger := publisher(t, s, bus.Address{Realm: "elsewhere", Pool: address.Pool})
	for _, e := range []mcp.Event{
		mcp.ToolsListChanged(), mcp.PromptsListChanged(), mcp.ResourcesListChanged(), mcp.ResourceUpdated("a:1 é*.>"),
	} {
		stranger.Publish(e)
		for i, pool := range []string{address.Pool, "other"} {
			workers[i].Publish(e)
			for _, events := range ingresses {
				assert.Equal(t, told{pool, e}, receive(t, events))
			}
		}
	}
	for _, events := range ingresses {
		assert.Empty(t, events)
	}
}

// The form of events is part of the wire protocol.
func TestEventsOnTheWire(t *testing.T) {
	s := bustest.StartServer(t)
	raw := rawConn(t, s)
	sub, err := raw.SubscribeSync("mcp.v1.test.default.evt.*")
	require.NoError(t, err)
	require.NoError(t, raw.Flush())
	p := publisher(t, s, address)
	for _, tt := range []struct {
		event       mcp.Event
		token, body string
	}{
		{mcp.ToolsListChanged(), "tools", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`},
		{mcp.PromptsListChanged(), "prompts", `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}`},
		{mcp.ResourcesListChanged(), "resources", `{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}`},
		{mcp.ResourceUpdated("a:1"), "resource", `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1"}}`},
	} {
		p.Publish(tt.event)
		m, err := sub.NextMsg(bustest.Patience)
		require.NoError(t, err)
		assert.Equal(t, "mcp.v1.test.default.evt."+tt.token, m.Subject)
		assert.Equal(t, tt.body, string(m.Data))
	}
}

func TestMalformedEventsAreIgnored(t *testing.T) {
	s := bustest.StartServer(t)
	events := listenForEvents(t, s)
	raw := rawConn(t, s)
	for _, tt := range []struct{ subject, body string }{
		{"mcp.v1.test.default.evt.tools", ``},
		{"mcp.v1.test.default.evt.tools", `{"jsonrpc":"2.0","id":1,"method":"notifications/tools/list_changed"}`},
		{"mcp.v1.test.default.evt.tools", `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`},
		{"mcp.v1.test.default.evt.resource", `{"jsonrpc":"2.0","method":"notifications/resources/updated"}`},
		{"mcp.v1.test.default.evt.moon", `{"jsonrpc":"2.0","method":"notifications/moon/list_changed"}`},
		{"mcp.v1.test.p=.evt.tools", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{"mcp.v1.test.last.evt.tools", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`}, // as it should be
	} {
		require.NoError(t, raw.Publish(tt.subject, []byte(tt.body)))
	}
	assert.Equal(t, told{"last", mcp.ToolsListChanged()}, receive(t, events))
	assert.Empty(t, events)
}

// What was lost with the connection is not known, so that there was a gap is. An
// event after that is not lost: the subscriptions are back by then.
func TestGap(t *testing.T) {
	s := bustest.StartServer(t)
	conn := bustest.ConnectIngress(t, s)
	gaps := make(chan struct{}, 10)
	events := make(chan told, 10)
	c, err := bus.OpenClient(conn, bus.ClientConfig{
		Realm:   address.Realm,
		OnEvent: func(pool string, e mcp.Event) { events <- told{pool, e} },
		OnGap:   func() { gaps <- struct{}{} },
	}, bustest.Log(t))
	require.NoError(t, err)
	require.NoError(t, conn.ForceReconnect())
	receive(t, gaps)
	publisher(t, s, address).Publish(mcp.ToolsListChanged())
	receive(t, events)

	require.NoError(t, c.Close())
	again := make(chan struct{})
	later, err := bus.OpenClient(conn, bus.ClientConfig{Realm: address.Realm, OnGap: func() { close(again) }}, bustest.Log(t))
	require.NoError(t, err)
	require.NoError(t, conn.ForceReconnect())
	receive(t, again)
	assert.Empty(t, gaps, "a client that is closed hears of nothing")
	require.NoError(t, later.Close())
}

// A worker that cannot publish goes on.
func TestPublishWithoutAConnection(t *testing.T) {
	s := bustest.StartServer(t)
	conn := bustest.ConnectIngress(t, s)
	conn.Close()
	assert.NotPanics(t, func() { bus.NewPublisher(conn, address, bustest.Log(t)).Publish(mcp.ToolsListChanged()) })
}

// Workers that serve something else than the others change the lists of their
// pool when they come, and when the others have gone.
func TestADeploymentChangesTheLists(t *testing.T) {
	s := bustest.StartServer(t)
	events := listenForEvents(t, s)
	serving := func(pool, catalogue string) (stop func() error) {
		cfg := bus.ConsumerConfig{Address: bus.Address{Realm: address.Realm, Pool: pool}, Slots: 1, Catalogue: catalogue}
		_, stop = startWorkerWith(t, bustest.Connect(t, s), cfg, result)
		return stop
	}
	assertChanged := func(pool string) {
		t.Helper()
		for _, e := range []mcp.Event{mcp.ToolsListChanged(), mcp.PromptsListChanged(), mcp.ResourcesListChanged()} {
			assert.Equal(t, told{pool, e}, receive(t, events))
		}
	}
	old := serving(address.Pool, "old")
	assertChanged(address.Pool)
	same := serving(address.Pool, "old")
	serving(address.Pool, "")
	serving(address.Pool, "new")
	assertChanged(address.Pool)
	require.NoError(t, same())
	require.NoError(t, old())
	assertChanged(address.Pool)
	serving("last", "x")
	assertChanged("last")
	assert.Empty(t, events)
}
