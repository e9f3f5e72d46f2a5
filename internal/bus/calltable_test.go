package bus

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tableCall is a call with a context that the test can look at.
func tableCall(t *testing.T, key string) (*call, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &call{key: key, direct: key != "", cancel: cancel, deadline: noon}, ctx
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestCallTableCancel(t *testing.T) {
	var table callTable
	first, firstCtx := tableCall(t, "1")
	second, secondCtx := tableCall(t, "2")
	require.Equal(t, started, table.add(first))
	require.Equal(t, started, table.add(second))

	table.cancel("1", noon)
	require.ErrorIs(t, firstCtx.Err(), context.Canceled)
	require.NoError(t, secondCtx.Err())
	assert.Empty(t, table.tombstones)

	table.remove(first)
	table.remove(second)
	assert.Empty(t, table.running)
	assert.Empty(t, table.byKey)
}

func TestCallTableCancelOvertakes(t *testing.T) {
	var table callTable
	table.cancel("1", noon)
	c, _ := tableCall(t, "1")
	assert.Equal(t, frameRefused, table.add(c))
	assert.Empty(t, table.running)
	other, _ := tableCall(t, "2")
	assert.Equal(t, started, table.add(other))
}

func TestCallTableDoorCallsHaveNoKey(t *testing.T) {
	var table callTable
	first, firstCtx := tableCall(t, "")
	second, _ := tableCall(t, "")
	require.Equal(t, started, table.add(first))
	table.cancel("", noon)
	require.NoError(t, firstCtx.Err())
	assert.Equal(t, started, table.add(second), "a cancel without a key means nobody")
	assert.Len(t, table.running, 2)
}

func TestCallTableTombstonesExpire(t *testing.T) {
	var table callTable
	table.cancel("old", noon)
	table.cancel("old", noon.Add(tombstoneFor)) // again: it is as old as it was
	table.cancel("young", noon.Add(tombstoneFor))
	assert.Len(t, table.tombstones, 2)
	table.cancel("new", noon.Add(tombstoneFor+1))
	assert.NotContains(t, table.tombstones, "old")
	assert.Len(t, table.tombstones, 2)
	assert.Equal(t, []string{"young", "new"}, table.order)
	table.forget(noon.Add(3 * tombstoneFor)) // no cancel has to come for that
	assert.Empty(t, table.tombstones)
	assert.Empty(t, table.order)
}

func TestCallTableTombstonesAreBounded(t *testing.T) {
	var table callTable
	for i := range 2 * maxTombstones {
		table.cancel(strconv.Itoa(i), noon)
	}
	assert.Len(t, table.tombstones, maxTombstones)
	assert.Len(t, table.order, maxTombstones)
	assert.NotContains(t, table.tombstones, strconv.Itoa(maxTombstones-1), "the oldest give way")
	assert.Contains(t, table.tombstones, strconv.Itoa(maxTombstones))
}

// TestCallTableTombstonesKeepNothingElse holds that a cancel does not cost the
// memory of the message it came in, nor of a key that no call can have.
func TestCallTableTombstonesKeepNothingElse(t *testing.T) {
	var table callTable
	message := "cancel 1" + strings.Repeat(" ", 1000)
	table.cancel(message[7:8], noon)
	require.Equal(t, []string{"1"}, table.order)
	assert.NotSame(t, unsafe.StringData(message[7:]), unsafe.StringData(table.order[0]))

	table.cancel(strings.Repeat("k", maxReply+1), noon)
	assert.Equal(t, []string{"1"}, table.order)
	assert.Len(t, table.tombstones, 1)
}

func TestCallTableClose(t *testing.T) {
	var table callTable
	running, _ := tableCall(t, "1")
	require.Equal(t, started, table.add(running))
	assert.False(t, table.isClosed())

	idle := table.close()
	assert.True(t, table.isClosed())
	assert.False(t, isClosed(idle))
	late, _ := tableCall(t, "2")
	assert.Equal(t, frameDrain, table.add(late))
	assert.Equal(t, []*call{running}, table.all())

	table.remove(running)
	assert.True(t, isClosed(idle))
	assert.Empty(t, table.all())
}

func TestCallTableCloseIdle(t *testing.T) {
	var table callTable
	assert.True(t, isClosed(table.close()))
}

func TestCallTableStuck(t *testing.T) {
	var table callTable
	c, _ := tableCall(t, "1")
	c.deadline = noon.Add(time.Hour)
	late, _ := tableCall(t, "2") // its deadline is noon
	require.Equal(t, started, table.add(c))
	require.Equal(t, started, table.add(late))

	assert.Empty(t, table.stuck(noon), "its time is over, but not before noon")
	assert.Equal(t, []*call{late}, table.stuck(noon.Add(1)))
	table.cancel("1", noon.Add(time.Minute))
	assert.Empty(t, table.stuck(noon.Add(time.Minute)))
	assert.Equal(t, []*call{c}, table.stuck(noon.Add(time.Minute+1)))
	assert.Empty(t, table.stuck(noon.Add(2*time.Hour)), "each is reported once")
}
