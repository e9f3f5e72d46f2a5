package bus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const door = "mcp.v1.test.default.q."

func knock(t *testing.T, nc *nats.Conn, body string, header nats.Header) answer {
	t.Helper()
	m, err := nc.RequestMsg(&nats.Msg{Subject: door + "echo", Header: header, Data: []byte(body)}, bustest.Patience)
	require.NoError(t, err)
	return decode(t, m.Data)
}

func TestQueueDoor(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	startWorker(t, s, 1, func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
		notify([]byte("nobody listens"))
		return result(ctx, req, notify)
	})
	nc := rawConn(t, s)

	plain := knock(t, nc, toolCall(7, "echo"), nil)
	assert.Equal(t, "7", string(plain.ID))
	assert.Equal(t, map[string]string{"principal": "", "profile": "strict"}, plain.Result)

	header := nats.Header{"Mcp-Profile": {"contract"}, "Mcp-Principal": {"two+words"}}
	assert.Equal(t, map[string]string{"principal": "two words", "profile": "contract"}, knock(t, nc, toolCall(7, "echo"), header).Result)

	for body, code := range map[string]int{
		"":                         -32700,
		"garbage":                  -32700,
		"[]":                       -32600,
		`{"jsonrpc":"2.0","id":7}`: -32600,
		`{"jsonrpc":"2.0","method":"tools/list"}`: -32600,
	} {
		got := knock(t, nc, body, nil)
		require.NotNil(t, got.Error, body)
		assert.Equal(t, code, got.Error.Code, body)
	}
}

func TestQueueDoorWhenAllSlotsAreTaken(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	startWorker(t, s, 1, g.handle)
	nc := rawConn(t, s)
	first := make(chan *nats.Msg, 1)
	inbox := nc.NewInbox()
	_, err := nc.ChanSubscribe(inbox, first)
	require.NoError(t, err)
	require.NoError(t, nc.PublishRequest(door+"echo", inbox, []byte(toolCall(1, "echo"))))
	receive(t, g.entered)

	refused := knock(t, nc, toolCall(2, "echo"), nil)
	assert.Equal(t, "2", string(refused.ID))
	require.NotNil(t, refused.Error)
	assert.Equal(t, mcp.CodeOverloaded, refused.Error.Code)
	assert.True(t, *refused.Error.Data.Retryable)
	close(g.leave)
	assert.Nil(t, decode(t, receive(t, first).Data).Error)
	assert.Empty(t, g.entered)
}

func TestQueueDoorIgnoresWhatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	close(g.leave)
	_, stop := startWorker(t, s, 1, g.handle)
	nc := rawConn(t, s)
	require.NoError(t, nc.Publish(door+"echo", []byte(toolCall(1, "echo"))))
	knock(t, nc, toolCall(2, "echo"), nil)
	require.NoError(t, stop())
	require.Len(t, g.entered, 1)
	assert.Equal(t, "2", string((<-g.entered).ID))
}

// TestQueueDoorWhileWorkersAreReplaced holds that NATS passes plain requests to
// those who stay: there is nobody who would send them again.
func TestQueueDoorWhileWorkersAreReplaced(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	var ran ledger
	nc := rawConn(t, s)
	_, stop := startWorker(t, s, 64, ran.handle)
	var knocked atomic.Int64
	var knockers sync.WaitGroup
	over := make(chan struct{})
	for range 16 {
		knockers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				m, err := nc.Request(door+"echo", []byte(toolCall(int(knocked.Add(1)), "echo")), bustest.Patience)
				if assert.NoError(t, err) {
					// Only what lay between NATS and the slots may be refused.
					if fault := decode(t, m.Data).Error; fault != nil {
						assert.Equal(t, mcp.CodeOverloaded, fault.Code)
					}
				}
			}
		})
	}
	for range 3 {
		_, next := startWorker(t, s, 64, ran.handle)
		began := knocked.Load()
		assert.NoError(t, stop())
		assert.Greater(t, knocked.Load(), began, "the door stayed open")
		stop = next
	}
	close(over)
	knockers.Wait()
	ran.mu.Lock()
	defer ran.mu.Unlock()
	for id, runs := range ran.runs {
		require.Equal(t, 1, runs, "request %s", id)
	}
	assert.Greater(t, float64(len(ran.runs)), 0.99*float64(knocked.Load()))
}

// TestQueueDoorAnswersIDsThatFillAMessage holds that no answer is lost because it
// repeats an id for which NATS has no room beside an error.
func TestQueueDoorAnswersIDsThatFillAMessage(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	g := newGate()
	startWorker(t, s, 1, g.handle)
	nc := rawConn(t, s)
	id := strings.Repeat("i", int(nc.MaxPayload())-60)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/list"}`, id)
	reply := make(chan *nats.Msg, 1)
	inbox := nc.NewInbox()
	_, err := nc.ChanSubscribe(inbox, reply)
	require.NoError(t, err)
	require.NoError(t, nc.PublishRequest(door+"_", inbox, []byte(body)))
	receive(t, g.entered)

	refused := knock(t, nc, body, nil)
	require.NotNil(t, refused.Error)
	assert.Equal(t, mcp.CodeOverloaded, refused.Error.Code)
	assert.Empty(t, refused.ID)
	close(g.leave)
	tooLarge := decode(t, receive(t, reply).Data)
	require.NotNil(t, tooLarge.Error)
	assert.Equal(t, mcp.CodeMessageTooLarge, tooLarge.Error.Code)
	assert.Empty(t, tooLarge.ID)
}

func TestSubjectNamesTheTool(t *testing.T) {
	t.Parallel()
	s := bustest.StartServer(t)
	startWorker(t, s, 1, result)
	nc := rawConn(t, s)
	for _, subject := range []string{door + "divide", door + "_", door + "ech"} {
		m, err := nc.Request(subject, []byte(toolCall(1, "echo")), bustest.Patience)
		require.NoError(t, err)
		assert.Contains(t, string(m.Data), `"code":-32600,"message":"Invalid request: the subject must end in`, subject)
	}
	m, err := nc.Request(door+"echo", []byte(toolCall(1, "echo")), bustest.Patience)
	require.NoError(t, err)
	assert.Contains(t, string(m.Data), `"result"`)
}
