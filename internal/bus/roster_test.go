package bus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

func up(slots, free int, at time.Time) advert {
	return advert{State: workerUp, Slots: slots, Free: free, TimeMs: at.UnixMilli()}
}

// rosterOf has workers named a, b, c, … with that many slots, all free.
func rosterOf(slots ...int) *roster {
	r := &roster{}
	for i, n := range slots {
		r.update(string(rune('a'+i)), up(n, n, noon), noon)
	}
	return r
}

func TestRosterChoosesInProportion(t *testing.T) {
	r := rosterOf(8, 4, 2)
	sent := map[string]int{}
	for m := r.best(noon); m != nil; m = r.best(noon) {
		m.sent++
		sent[m.id]++
		if sent["a"]+sent["b"]+sent["c"] == 4 {
			assert.Equal(t, map[string]int{"a": 4}, sent, "until it has no more room than the next")
		}
	}
	assert.Equal(t, map[string]int{"a": 8, "b": 4, "c": 2}, sent)
}

func TestRosterEqualsTakeTurns(t *testing.T) {
	r := rosterOf(4, 4, 4)
	chosen := map[string]int{}
	for range 30 {
		chosen[r.best(noon).id]++ // each is free again at once
	}
	assert.Equal(t, map[string]int{"a": 10, "b": 10, "c": 10}, chosen)
}

func TestMemberCountsAreCorrected(t *testing.T) {
	r := rosterOf(4)
	m := r.find("a")
	m.sent = 2
	assert.Equal(t, 2, m.free())
	m.report(1) // 3 are taken, 2 of them by us
	assert.Equal(t, 1, m.others)
	assert.Equal(t, 1, m.free())
	m.report(4) // what we have sent has not arrived
	assert.Equal(t, 0, m.others)
	assert.Equal(t, 2, m.free())
	m.report(0)
	assert.Equal(t, 0, m.free())
	assert.Nil(t, r.best(noon))
	m.sent--
	assert.Same(t, m, r.best(noon))

	r.update("a", up(8, 5, noon), noon)
	assert.Equal(t, 2, m.others, "and by an advert, which may bring other slots")
	assert.Equal(t, 5, m.free())
	assert.Len(t, r.members, 1)
}

func TestRosterStale(t *testing.T) {
	r := rosterOf(1)
	assert.NotNil(t, r.best(noon.Add(staleAfter)))
	late := noon.Add(staleAfter + 1)
	assert.Nil(t, r.best(late))
	assert.Zero(t, r.capacity(late))

	r.update("a", up(1, 1, late), late)
	assert.NotNil(t, r.best(late), "it was only late")

	r.update("b", up(1, 1, late), late.Add(forgottenAfter+1))
	require.Len(t, r.members, 1)
	assert.Nil(t, r.find("a"), "forgotten")
}

func TestRosterDrainingAndGone(t *testing.T) {
	r := rosterOf(2, 1)
	draining := up(2, 2, noon)
	draining.State = workerDraining
	r.update("a", draining, noon)
	assert.Equal(t, "b", r.best(noon).id)
	assert.Equal(t, 1, r.capacity(noon))
	require.NotNil(t, r.find("a"), "it has answers to give")

	gone := up(2, 2, noon)
	gone.State = workerGone
	r.update("a", gone, noon)
	assert.Nil(t, r.find("a"))
	r.update("stranger", gone, noon)
	assert.Len(t, r.members, 1)

	r.drop(r.find("b"))
	assert.Empty(t, r.members)
	assert.Nil(t, r.best(noon))
}

func TestMemberClock(t *testing.T) {
	r := &roster{}
	hear := func(theirs, ours time.Time) time.Duration {
		r.update("a", up(1, 1, theirs), ours)
		return r.find("a").clockOffset()
	}
	const ahead = time.Hour
	assert.Equal(t, ahead-40*time.Millisecond, hear(noon.Add(ahead), noon.Add(40*time.Millisecond)), "the first is believed")
	assert.Equal(t, ahead-10*time.Millisecond, hear(noon.Add(ahead), noon.Add(10*time.Millisecond)), "and one that was faster")
	assert.Equal(t, ahead-11*time.Millisecond, hear(noon.Add(ahead), noon.Add(26*time.Millisecond)), "a slow one counts little")

	var offset time.Duration
	for range 200 {
		offset = hear(noon, noon)
	}
	assert.InDelta(t, 0, offset.Seconds(), 0.1, "a clock that was set back is followed")
	assert.Equal(t, ahead, hear(noon.Add(ahead), noon), "and one set forward at once")
	assert.Equal(t, -ahead, func() time.Duration {
		r.update("behind", up(1, 1, noon.Add(-ahead)), noon)
		return r.find("behind").clockOffset()
	}())
}
