package bus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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
	for m := r.choose(noon); m != nil; m = r.choose(noon) {
		r.take(m)
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
		m := r.choose(noon)
		r.take(m)
		r.giveBack(m) // each is free again at once
		chosen[m.id]++
	}
	assert.Equal(t, map[string]int{"a": 10, "b": 10, "c": 10}, chosen)
}

// A worker with many slots gets a few requests in a row, and no more than that.
func TestRosterChoosesInRuns(t *testing.T) {
	r := rosterOf(64, 64, 64)
	var runs []int
	for last := (*member)(nil); len(runs) < 10; {
		m := r.choose(noon)
		r.take(m)
		if m != last {
			runs = append(runs, 0)
		}
		runs[len(runs)-1]++
		last = m
	}
	assert.Equal(t, []int{4, 4, 4, 4, 4, 4, 4, 4, 4}, runs[:9])

	r = rosterOf(32, 32)
	m := r.choose(noon)
	r.report(m, 29)
	assert.NotSame(t, m, r.choose(noon), "which is too far behind for a run")
}

func TestMemberCountsAreCorrected(t *testing.T) {
	r := rosterOf(4)
	m := r.find("a")
	r.take(m)
	r.take(m)
	assert.Equal(t, 2, m.free())
	r.report(m, 1) // 3 are taken, 2 of them by us
	assert.Equal(t, 1, m.others)
	assert.Equal(t, 1, m.free())
	r.report(m, 4) // what we have sent has not arrived
	assert.Equal(t, 0, m.others)
	assert.Equal(t, 2, m.free())
	r.report(m, 0)
	assert.Equal(t, 0, m.free())
	assert.Nil(t, r.choose(noon))
	r.giveBack(m)
	assert.Same(t, m, r.choose(noon))

	r.update("a", up(8, 5, noon), noon)
	assert.Equal(t, 2, m.others, "and by an advert, which may bring other slots")
	assert.Equal(t, 5, m.free())
	assert.Len(t, r.members, 1)
}

func TestRosterStale(t *testing.T) {
	r := rosterOf(1)
	assert.NotNil(t, r.choose(noon.Add(leastTempo.staleAfter())))
	late := noon.Add(leastTempo.staleAfter() + 1)
	assert.Nil(t, r.choose(late))
	assert.Zero(t, r.capacity(late))

	r.update("a", up(1, 1, late), late)
	assert.NotNil(t, r.choose(late), "it was only late")

	r.update("b", up(1, 1, late), late.Add(forgottenAfter+1))
	require.Len(t, r.members, 1)
	assert.Nil(t, r.find("a"), "forgotten")
}

func TestRosterDrainingAndGone(t *testing.T) {
	r := rosterOf(2, 1)
	draining := up(2, 2, noon)
	draining.State = workerDraining
	r.update("a", draining, noon)
	assert.Equal(t, "b", r.choose(noon).id)
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
	assert.Nil(t, r.choose(noon))
}

// A plainRoster is what a roster has to be like, without any care for time.
type plainRoster map[string]*plainMember

type plainMember struct {
	slots, sent, others int
	seen                time.Time
	tempo               tempo
	draining            bool
	serves              string
	turn                int
}

func (p plainRoster) hear(id string, a advert, now time.Time) {
	if a.State == workerGone {
		delete(p, id)
		return
	}
	m := p[id]
	if m == nil {
		m = &plainMember{}
		p[id] = m
	}
	m.slots, m.seen, m.tempo, m.draining, m.serves = a.Slots, now, a.tempo(), a.State == workerDraining, a.Catalogue
	m.report(a.Free)
}

func (m *plainMember) free() int       { return m.slots - m.others - m.sent }
func (m *plainMember) report(free int) { m.others = max(0, m.slots-free-m.sent) }

func (p plainRoster) forget(now time.Time) {
	for id, m := range p {
		if now.Sub(m.seen) > m.tempo.forgottenAfter() {
			delete(p, id)
		}
	}
}

// usable is the ids of those that can be chosen, the one to choose first.
func (p plainRoster) usable(now time.Time) (ids []string, slots int) {
	for id, m := range p {
		if !m.draining && now.Sub(m.seen) <= m.tempo.staleAfter() {
			ids = append(ids, id)
			slots += m.slots
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		if x, y := p[a].free(), p[b].free(); x != y {
			return y - x
		}
		return p[a].turn - p[b].turn
	})
	return ids, slots
}

func (p plainRoster) catalogues() (digests []string) {
	for _, m := range p {
		if m.serves != "" && !slices.Contains(digests, m.serves) {
			digests = append(digests, m.serves)
		}
	}
	slices.Sort(digests)
	return digests
}

// TestRosterIsLikeAPlainOne does the same at random to a roster and to a plain one.
func TestRosterIsLikeAPlainOne(t *testing.T) {
	for seed := range uint64(20) {
		workers := 1 + int(seed)%5*60 // up to two crowds
		random := rand.New(rand.NewPCG(seed, 0))
		r, plain, now := &roster{}, plainRoster{}, noon
		for step := range 3000 {
			now = now.Add(time.Duration(random.IntN(20)) * time.Millisecond)
			plain.forget(now)
			id := strconv.Itoa(random.IntN(workers))
			m, p := r.find(id), plain[id]
			switch what := random.IntN(20); {
			case what < 6:
				a := someAdvert(random, now)
				r.update(id, a, now)
				plain.hear(id, a, now)
			case what < 16:
				sendOne(t, r, plain, now, step)
			case m == nil || p == nil: // none of it that could answer
			case what < 18 && p.sent > 0:
				free := random.IntN(p.slots + 1)
				r.giveBack(m)
				r.report(m, free)
				p.sent--
				p.report(free)
			case what == 18:
				r.drain(m)
				p.draining = true
			case what == 19:
				r.drop(m)
				delete(plain, id)
			}
			requireLike(t, plain, r, now)
		}
	}
}

func someAdvert(random *rand.Rand, now time.Time) advert {
	a := up(1+random.IntN(4), 0, now)
	if random.IntN(4) == 0 {
		a.Slots = 40
	}
	a.Free = random.IntN(a.Slots + 1)
	a.TempoMs = tempo(random.IntN(3) * 400)
	a.Catalogue = []string{"", "old", "new"}[random.IntN(3)]
	switch random.IntN(20) {
	case 0:
		a.State = workerGone
	case 1:
		a.State = workerDraining
	}
	return a
}

// sendOne has the roster choose, and both count the request.
func sendOne(t *testing.T, r *roster, plain plainRoster, now time.Time, turn int) {
	t.Helper()
	m := r.choose(now)
	usable, _ := plain.usable(now)
	last := 0 // the turn of the last choice
	for _, p := range plain {
		last = max(last, p.turn)
	}
	if len(usable) == 0 || plain[usable[0]].free() <= 0 {
		require.Nil(t, m)
		return
	}
	require.NotNil(t, m)
	require.Contains(t, usable, m.id)
	require.Positive(t, m.free())
	if best := plain[usable[0]]; len(usable) <= crowd && (m.slots < 16 || plain[m.id].turn != last) {
		require.Equal(t, best.free(), m.free())
		require.Equal(t, best.turn, plain[m.id].turn)
	} else if len(usable) <= crowd {
		require.Greater(t, m.free(), best.free()-m.slots/16)
	}
	r.take(m)
	plain[m.id].sent++
	plain[m.id].turn = turn + 1
}

func requireLike(t *testing.T, plain plainRoster, r *roster, now time.Time) {
	t.Helper()
	usable, slots := plain.usable(now)
	require.Equal(t, slots, r.capacity(now))
	require.Equal(t, len(usable), r.usable(now))
	require.Equal(t, plain.catalogues(), r.catalogues())
	require.Equal(t, len(plain), r.len())
	for id, p := range plain {
		require.NotNil(t, r.find(id))
		require.Equal(t, p.free(), r.find(id).free())
	}
}

// BenchmarkRoster is what one call costs the roster: the choice, and the answer.
func BenchmarkRoster(b *testing.B) {
	for _, workers := range []int{1, 16, 64, 1000, 10_000} {
		b.Run(strconv.Itoa(workers), func(b *testing.B) {
			r := &roster{}
			for i := range workers {
				r.update(strconv.Itoa(i), up(64, 64, noon), noon)
			}
			b.ReportAllocs()
			for b.Loop() {
				m := r.choose(noon)
				r.take(m)
				r.giveBack(m)
				r.report(m, 50)
			}
		})
	}
}

// BenchmarkAdvert is what one advert costs an ingress, but for its way through NATS.
func BenchmarkAdvert(b *testing.B) {
	for _, workers := range []int{1, 1000, 10_000} {
		b.Run(strconv.Itoa(workers), func(b *testing.B) {
			c := &Client{cfg: ClientConfig{Realm: "main"}, pools: make(map[string]*pool)}
			adverts := make([]*nats.Msg, workers)
			for i := range adverts {
				body := fmt.Appendf(nil, `{"state":"up","slots":64,"free":63,"timeMs":1790000000000,"version":"0.1.0","catalogue":"0123456789abcdef"}`)
				adverts[i] = &nats.Msg{Subject: "mcp.v1.main.default.adv." + strconv.Itoa(i), Data: body}
				c.onAdvert(adverts[i])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.onAdvert(adverts[i%workers])
			}
		})
	}
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
