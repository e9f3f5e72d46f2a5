package embedded_test

import (
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/embedded"
)

var quiet = slog.New(slog.DiscardHandler)

func TestStoreIsLocked(t *testing.T) {
	dir := t.TempDir()
	first, err := embedded.Start(embedded.Config{StoreDir: dir}, quiet)
	require.NoError(t, err)
	_, err = embedded.Start(embedded.Config{StoreDir: dir}, quiet)
	require.ErrorContains(t, err, "is in use by another process")
	first.Close()
	again, err := embedded.Start(embedded.Config{StoreDir: dir}, quiet)
	require.NoError(t, err, "once the first has ended")
	again.Close()
}

func TestStartTellsWhatIsWrong(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	_, err = embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: ln.Addr().String()}, quiet)
	require.ErrorContains(t, err, "address already in use")
	for listen, want := range map[string]string{"nowhere": "address for NATS clients", "localhost:x": "is no number"} {
		_, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: listen}, quiet)
		assert.ErrorContains(t, err, want)
	}
}
