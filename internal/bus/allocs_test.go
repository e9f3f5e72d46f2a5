//go:build !race

package bus_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAllocs bounds what a call allocates on its way over the bus: in the client,
// the server and the worker. Adverts that pass meanwhile count too, a little.
func TestAllocs(t *testing.T) {
	call := hop(t)
	require.True(t, call())
	assert.LessOrEqual(t, testing.AllocsPerRun(2000, func() { call() }), 39.0)
}
