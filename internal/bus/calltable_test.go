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

// keyOf is the key of an attempt; that of "" is the one of calls without one.
func keyOf(name string) attemptKey { return attemptKey{ingress: name} }

// tableCall is a call with a context that the test can look at.
func tableCall(t *testing.T, key string) (*call, context.Context) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &call{key: keyOf(key), direct: key != "", cancel: cancel, terms: terms{deadline: noon}}, ctx
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
	require.Equal(t, mayStart, table.add(first))
	require.Equal(t, mayStart, table.add(second))

	table.cancel(keyOf("1"), noon)
	require.ErrorIs(t, firstCtx.Err(), context.Canceled)
	require.NoError(t, secondCtx.Err())
	assert.Zero(t, table.tombstones())

	table.remove(first, sent("1"), noon)
	table.remove(second, sent("2"), noon)
	assert.Empty(t, table.running)
	assert.Len(t, table.attempts, 2)
	table.forget(noon.Add(rememberFor + 1))
	assert.Empty(t, table.attempts)
	assert.Empty(t, table.past)
	assert.Zero(t, table.kept)
}

func TestCallTableCancelOvertakes(t *testing.T) {
	var table callTable
	table.cancel(keyOf("1"), noon)
	c, _ := tableCall(t, "1")
	assert.Equal(t, ifCancelled, table.add(c))
	assert.Empty(t, table.running)
	other, _ := tableCall(t, "2")
	assert.Equal(t, mayStart, table.add(other))
}

func TestCallTableDoorCallsHaveNoKey(t *testing.T) {
	var table callTable
	first, firstCtx := tableCall(t, "")
	second, _ := tableCall(t, "")
	require.Equal(t, mayStart, table.add(first))
	table.cancel(keyOf(""), noon)
	require.NoError(t, firstCtx.Err())
	assert.Equal(t, mayStart, table.add(second), "a cancel without a key means nobody")
	assert.Len(t, table.running, 2)
}

func TestCallTableTombstonesExpire(t *testing.T) {
	var table callTable
	table.cancel(keyOf("old"), noon)
	table.cancel(keyOf("old"), noon.Add(rememberFor)) // again: it is as old as it was
	table.cancel(keyOf("young"), noon.Add(rememberFor))
	assert.Equal(t, 2, table.tombstones())
	table.cancel(keyOf("new"), noon.Add(rememberFor+1))
	assert.Equal(t, []string{"young", "new"}, keys(table.past))
	table.forget(noon.Add(3 * rememberFor)) // no cancel has to come for that
	assert.Empty(t, table.attempts)
	assert.Empty(t, table.past)
}

func keys(records []*record) (keys []string) {
	for _, r := range records {
		keys = append(keys, r.key.ingress)
	}
	return keys
}

func TestCallTablePastIsBounded(t *testing.T) {
	var table callTable
	for i := range 2 * maxPast {
		table.cancel(keyOf(strconv.Itoa(i)), noon)
	}
	assert.Len(t, table.past, maxPast)
	assert.Len(t, table.attempts, maxPast)
	assert.NotContains(t, table.attempts, keyOf(strconv.Itoa(maxPast-1)), "the oldest give way")
	assert.Contains(t, table.attempts, keyOf(strconv.Itoa(maxPast)))
}

// TestCallTableTombstonesKeepNothingElse holds that a cancel does not cost the
// memory of the message it came in, nor of a key that no call can have.
func TestCallTableTombstonesKeepNothingElse(t *testing.T) {
	var table callTable
	message := "cancel 1" + strings.Repeat(" ", 1000)
	table.cancel(keyOf(message[7:8]), noon)
	require.Equal(t, []string{"1"}, keys(table.past))
	assert.NotSame(t, unsafe.StringData(message[7:]), unsafe.StringData(table.past[0].key.ingress))

	table.cancel(keyOf(strings.Repeat("k", maxReply+1)), noon)
	assert.Equal(t, []string{"1"}, keys(table.past))
	assert.Equal(t, 1, table.tombstones())
}

// sent is a result of the attempt key.
func sent(key string) sentReply { return sentReply{subject: "reply." + key, body: []byte("body")} }

func TestCallTableFates(t *testing.T) {
	var table callTable
	runs, _ := tableCall(t, "runs")
	ended, _ := tableCall(t, "ended")
	require.Equal(t, mayStart, table.add(runs))
	require.Equal(t, mayStart, table.add(ended))
	table.remove(ended, sent("ended"), noon)
	table.cancel(keyOf("cancelled"), noon)
	for key, want := range map[string]fate{
		"runs": fateRuns, "ended": fateEnded, "cancelled": fateUnknown, "never came": fateUnknown,
	} {
		got, result := table.fateOf(keyOf(key), noon, noon)
		assert.Equal(t, want, got, key)
		assert.Equal(t, want == fateEnded, result.subject != "", key)
	}
	for key, want := range map[string]verdict{
		"runs": ifSeen, "ended": ifSeen, "cancelled": ifCancelled, "never came": ifCancelled,
	} {
		again, _ := tableCall(t, key)
		assert.Equal(t, want, table.add(again), key)
	}
}

// TestCallTableForgets holds that what a worker does not know any more is not
// taken for what it has never known.
func TestCallTableForgets(t *testing.T) {
	var table callTable
	end := func(key string, size int, now time.Time) {
		c, _ := tableCall(t, key)
		require.Equal(t, mayStart, table.add(c))
		table.remove(c, sentReply{subject: key, body: make([]byte, size)}, now)
	}
	end("first", 1, noon)
	end("second", maxKept, noon.Add(time.Second)) // leaves no room for the first
	assert.Equal(t, maxKept, table.kept)
	fateOf := func(key string, sent time.Time) fate {
		fate, _ := table.fateOf(keyOf(key), sent, noon.Add(time.Second+largeAgain))
		return fate
	}
	assert.Equal(t, fateForgotten, fateOf("first", noon.Add(-time.Second)))
	assert.Equal(t, fateForgotten, fateOf("other", noon.Add(forgetMargin)))
	assert.Equal(t, fateUnknown, fateOf("another", noon.Add(forgetMargin+1)), "it was sent after the first had ended")
	assert.Equal(t, fateEnded, fateOf("second", noon))
}

// TestCallTableLargeResults holds that a large result is not sent again while it may
// be on its way.
func TestCallTableLargeResults(t *testing.T) {
	for size, want := range map[int][]fate{
		bulkFrom:     {fateEnded, fateEnded, fateEnded, fateEnded, fateEnded, fateEnded},
		bulkFrom + 1: {fateRuns, fateEnded, fateRuns, fateEnded, fateRuns, fateEnded},
	} {
		var table callTable
		c, _ := tableCall(t, "large")
		require.Equal(t, mayStart, table.add(c))
		table.remove(c, sentReply{subject: "large", body: make([]byte, size)}, noon)
		var got []fate
		for _, after := range []time.Duration{largeAgain - 1, largeAgain, 2*largeAgain - 1, 2 * largeAgain, 4*largeAgain - 1, 4 * largeAgain} {
			fate, _ := table.fateOf(keyOf("large"), noon, noon.Add(after))
			got = append(got, fate)
		}
		assert.Equal(t, want, got, size)
	}
}

func TestCallTableClose(t *testing.T) {
	var table callTable
	running, _ := tableCall(t, "1")
	require.Equal(t, mayStart, table.add(running))
	assert.False(t, table.isClosed())

	idle := table.close()
	assert.True(t, table.isClosed())
	assert.False(t, isClosed(idle))
	late, _ := tableCall(t, "2")
	assert.Equal(t, ifDraining, table.add(late))
	assert.Equal(t, []*call{running}, table.all())

	table.remove(running, sent("1"), noon)
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
	require.Equal(t, mayStart, table.add(c))
	require.Equal(t, mayStart, table.add(late))

	assert.Empty(t, table.stuck(noon), "its time is over, but not before noon")
	assert.Equal(t, []*call{late}, table.stuck(noon.Add(1)))
	table.cancel(keyOf("1"), noon.Add(time.Minute))
	assert.Empty(t, table.stuck(noon.Add(time.Minute)))
	assert.Equal(t, []*call{c}, table.stuck(noon.Add(time.Minute+1)))
	assert.Empty(t, table.stuck(noon.Add(2*time.Hour)), "each is reported once")
}
