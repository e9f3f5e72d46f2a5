package bus

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTempoFollowsTheSizeOfThePool(t *testing.T) {
	for _, tt := range []struct {
		workers      int
		every, least time.Duration
		stale        time.Duration
		forgotten    time.Duration
	}{
		{0, 250 * time.Millisecond, 2 * time.Millisecond, 1500 * time.Millisecond, 10 * time.Second},
		{4, 250 * time.Millisecond, 2 * time.Millisecond, 1500 * time.Millisecond, 10 * time.Second},
		{125, 250 * time.Millisecond, 62500 * time.Microsecond, 1500 * time.Millisecond, 10 * time.Second},
		{1000, 2 * time.Second, 500 * time.Millisecond, 5 * time.Second, 17 * time.Second},
		{5000, 10 * time.Second, 2500 * time.Millisecond, 21 * time.Second, 49 * time.Second},
		{1 << 30, 10 * time.Second, 2500 * time.Millisecond, 21 * time.Second, 49 * time.Second},
	} {
		p := tempoFor(tt.workers)
		assert.Equal(t, tt.every, p.every(), "%d workers", tt.workers)
		assert.Equal(t, tt.least, p.least(), "%d workers", tt.workers)
		assert.Equal(t, tt.stale, p.staleAfter(), "%d workers", tt.workers)
		assert.Equal(t, tt.forgotten, p.forgottenAfter(), "%d workers", tt.workers)
	}
}

func TestParseTempo(t *testing.T) {
	for words, want := range map[string]tempo{
		"1000": 1000, "8": 8, "7": 8, "-1": 8, "10001": 10_000,
	} {
		p, ok := parseTempo([]string{words, "of a later protocol"})
		assert.True(t, ok, words)
		assert.Equal(t, want, p, words)
	}
	for _, words := range [][]string{nil, {""}, {"x"}, {"1.5"}, {"99999999999999999999"}} {
		_, ok := parseTempo(words)
		assert.False(t, ok, words)
	}
	assert.Equal(t, "tempo 1000", string(tempo(1000).message()))
}

func withTempo(p tempo) advert {
	a := up(1, 1, noon)
	a.TempoMs = p
	return a
}

// poolOf is a roster of that many workers, all of which have that tempo.
func poolOf(workers int, p tempo) *roster {
	r := &roster{}
	for i := range workers {
		r.update("w"+strconv.Itoa(i), withTempo(p), noon)
	}
	return r
}

func TestWorkersAreToldThatTheirPoolIsLarge(t *testing.T) {
	r := poolOf(1000, leastTempo)
	assert.Equal(t, tempo(2000), r.correction(r.find("w7"), noon))
	assert.Zero(t, r.correction(r.find("w8"), noon), "not all at once")
	assert.Equal(t, tempo(2000), r.correction(r.find("w8"), noon.Add(tempoTells)))

	r.update("w7", withTempo(2000), noon)
	later := noon.Add(time.Second)
	assert.Zero(t, r.correction(r.find("w7"), later), "it has heard it")
	for p, told := range map[tempo]bool{1000: false, 999: true, 4000: false} {
		r.update("w7", withTempo(p), noon)
		later = later.Add(time.Second)
		assert.Equal(t, told, r.correction(r.find("w7"), later) != 0, "tempo %d", p)
	}
	r.update("old", up(1, 1, noon), noon)
	assert.Zero(t, r.correction(r.find("old"), later.Add(time.Second)), "one that does not know the word")
}

// A new ingress hears of one worker first.
func TestNobodyIsToldToSpeedUpBeforeAllAreKnown(t *testing.T) {
	r := poolOf(2, 1000)
	assert.Zero(t, r.correction(r.find("w1"), noon.Add(tempoSurvey-1)))
	assert.Equal(t, leastTempo, r.correction(r.find("w1"), noon.Add(tempoSurvey)))

	r.drop(r.find("w0"))
	r.drop(r.find("w1"))
	again := noon.Add(time.Hour)
	r.update("w3", withTempo(1000), again)
	assert.Zero(t, r.correction(r.find("w3"), again.Add(time.Second)), "after an outage it is new again")
}

func TestSlowWorkersAreNotStale(t *testing.T) {
	r := poolOf(1, 4000)
	m := r.find("w0")
	require.Equal(t, 9*time.Second, m.tempo.staleAfter())
	assert.Same(t, m, r.choose(noon.Add(9*time.Second)))
	assert.Nil(t, r.choose(noon.Add(9*time.Second+1)))
	r.expire(noon.Add(25 * time.Second))
	assert.Same(t, m, r.find("w0"))
	r.expire(noon.Add(25*time.Second + 1))
	assert.Nil(t, r.find("w0"))
}
