package worker

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/seal"
)

// opens tells whether text that one keyring has sealed is opened by the other.
func opens(t *testing.T, sealer, opener *seal.Keyring) bool {
	t.Helper()
	_, err := opener.Open(sealer.Seal([]byte("state"), []byte("purpose")), []byte("purpose"))
	return err == nil
}

func keysConfig(realm, stateKeys string) Config {
	return Config{ConsumerConfig: bus.ConsumerConfig{Address: bus.Address{Realm: realm, Pool: "default"}}, StateKeys: stateKeys}
}

func TestWorkersOfARealmShareAKey(t *testing.T) {
	s := bustest.StartServer(t)
	conn := bustest.Connect(t, s)
	const workers = 8
	rings := make([]*seal.Keyring, workers)
	var all sync.WaitGroup
	for i := range rings {
		all.Go(func() {
			ring, err := openKeys(t.Context(), conn, keysConfig("main", ""), bustest.Log(t))
			assert.NoError(t, err)
			rings[i] = ring
		})
	}
	all.Wait()
	for _, ring := range rings {
		require.NotNil(t, ring)
		assert.True(t, opens(t, rings[0], ring), "whoever was first")
	}
	other, err := openKeys(t.Context(), conn, keysConfig("other", ""), bustest.Log(t))
	require.NoError(t, err)
	assert.False(t, opens(t, rings[0], other), "another realm has another key")
}

func TestKeysFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte(seal.NewKey()+"\n"), 0o600))
	first, err := openKeys(t.Context(), nil, keysConfig("main", file), bustest.Log(t))
	require.NoError(t, err)
	second, err := openKeys(t.Context(), nil, keysConfig("main", file), bustest.Log(t))
	require.NoError(t, err)
	assert.True(t, opens(t, first, second))

	_, err = openKeys(t.Context(), nil, keysConfig("main", file+".missing"), bustest.Log(t))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("not a key"), 0o600))
	_, err = openKeys(t.Context(), nil, keysConfig("main", file), bustest.Log(t))
	require.ErrorContains(t, err, "keys for request state: line 1")
}
