package subscription_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/subscription"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long tests wait for what has to happen.
const patience = 10 * time.Second

const (
	server = `{"name":"s","version":"1"}`
	pool   = "default"
)

func newHub(cfg subscription.Config) *subscription.Hub {
	return subscription.NewHub(cfg, slog.New(slog.DiscardHandler))
}

// honouring is a worker that honours filters whole.
func honouring(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
	return mcp.ResultResponse(req.ID, []byte(`{"_meta":{"`+mcp.MetaServerInfo+`":`+server+`},"notifications":`), req.Params.Notifications, []byte(`}`))
}

// request returns a request to listen, with the filter as JSON.
func request(t testing.TB, id, filter string) *mcp.Request {
	t.Helper()
	req, err := mcp.ParseRequest([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + filter + `}}`))
	require.Nil(t, err)
	req.Pool = pool
	return req
}

// A listener is a client with one subscription.
type listener struct {
	id       jsonrpc.ID
	messages chan string        // notifications, as they come
	response chan *mcp.Response // the one response
	gone     context.CancelFunc // as a client that closes its stream
}

// listen sends req and does not wait for anything.
func listen(t testing.TB, h mcp.Handler, req *mcp.Request) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{id: req.ID, messages: make(chan string, 1000), response: make(chan *mcp.Response, 1), gone: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.response <- h.Handle(ctx, req, func(n []byte) { l.messages <- string(n) })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return l
}

// open subscribes to h and waits until it is acknowledged.
func open(t testing.TB, h *subscription.Hub, id, filter string) *listener {
	t.Helper()
	l := listen(t, h.Middleware(mcp.HandlerFunc(honouring)), request(t, id, filter))
	require.Equal(t, acknowledged(id, filter), receive(t, l.messages))
	return l
}

func acknowledged(id, filter string) string {
	return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag(id) + `,"notifications":` + filter + `}}`
}

func toolsChanged(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + tag(id) + `}}`
}

func updated(id, uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + tag(id) + `,"uri":"` + uri + `"}}`
}

func ended(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","_meta":{"` + mcp.MetaSubscriptionID + `":` + id +
		`,"` + mcp.MetaServerInfo + `":` + server + `}}}`
}

func tag(id string) string { return `"_meta":{"` + mcp.MetaSubscriptionID + `":` + id + `}` }

// receive takes the next value of c, and fails the test if there is none in time.
func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		require.FailNow(t, "nothing came in time")
	}
	return v
}

// end closes h and returns what l still gets of notifications before its
// response, which must be the graceful one.
func (l *listener) end(t testing.TB, h *subscription.Hub) (rest []string) {
	t.Helper()
	h.Close()
	require.Equal(t, ended(string(l.id)), string(receive(t, l.response).Body))
	for len(l.messages) > 0 {
		rest = append(rest, <-l.messages)
	}
	return rest
}
