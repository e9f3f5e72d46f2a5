// Package bustest gives tests a real NATS server and connections to it.
package bustest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
)

// Patience is how long tests wait for something that has to happen.
const Patience = 10 * time.Second

// StartServer starts a server with JetStream that listens on loopback; it ends
// with the test.
func StartServer(t testing.TB) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"}, Log(t))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// Connect connects to s for the time of the test, as a worker does.
func Connect(t testing.TB, s *embedded.Server) *bus.Conn {
	t.Helper()
	return connect(t, s, 32<<20)
}

// ConnectIngress connects to s as an ingress does, which keeps nothing that it
// cannot send at once.
func ConnectIngress(t testing.TB, s *embedded.Server) *bus.Conn {
	t.Helper()
	return connect(t, s, 0)
}

func connect(t testing.TB, s *embedded.Server, buffer int) *bus.Conn {
	t.Helper()
	conn, err := bus.Connect(t.Context(), bus.ConnConfig{
		URL: s.ClientURL(), Name: t.Name(), Wait: Patience, Buffer: buffer,
	}, Log(t))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// Log returns a logger that writes to the test's log.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
