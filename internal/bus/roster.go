package bus

import (
	"container/heap"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// crowd is how many workers are so many that an ingress looks at two of them
// only, see choose.
const crowd = 128

// A member is a worker incarnation as one ingress sees it. Its counts change by
// way of the roster only, which orders members by them.
type member struct {
	id       string
	calls    string // where it takes requests, a prefix
	slots    int
	sent     int       // by this ingress and unanswered
	others   int       // slots taken by other ingresses, as of the last report
	lastSeen time.Time // of the last advert
	tempo    tempo     // as of the last advert
	obeys    bool      // it can be told another
	draining bool
	serves   string // digest of its catalogue; empty when it does not say
	signs    signs
	offset   atomic.Int64 // its clock minus ours, a time.Duration; read without the pool's lock

	place int    // in the roster's ranking; notRanked if it cannot be chosen
	turn  uint64 // when it was last chosen
	lot   uint32 // decides between members that were never chosen
}

const notRanked = -1

// free is the number of slots that should be free. It may be negative.
func (m *member) free() int { return m.slots - m.others - m.sent }

// report corrects the count by what the worker said: what is neither free nor
// ours is taken by others.
func (m *member) report(free int) { m.others = max(0, m.slots-free-m.sent) }

// setClock follows the worker's clock. An advert is some time on its way, so
// that the largest difference is nearest the truth; it fades, since clocks drift.
func (m *member) setClock(theirs, ours time.Time) {
	sample := theirs.Sub(ours)
	offset := m.clockOffset()
	if m.lastSeen.IsZero() || sample > offset {
		offset = sample
	} else {
		offset += (sample - offset) / 16
	}
	m.offset.Store(int64(offset))
}

func (m *member) clockOffset() time.Duration { return time.Duration(m.offset.Load()) }

// staleAt is when the worker will have been silent for too long to be chosen.
func (m *member) staleAt() time.Time { return m.lastSeen.Add(m.tempo.staleAfter()) }

// forgottenAt is when it will have been silent for too long to be remembered.
func (m *member) forgottenAt() time.Time { return m.lastSeen.Add(m.tempo.forgottenAfter()) }

// A roster is the workers of one pool, from their adverts. It is not safe for
// concurrent use.
//
// No operation looks at all members, but for one that follows when some have been
// silent for too long.
type roster struct {
	address Address
	members map[string]*member
	since   time.Time      // when the first of them came, after there was none
	ranking ranking        // those that can be chosen
	slots   int            // of those
	sent    int            // by this ingress and unanswered, in all
	serving map[string]int // members by what they serve
	last    *member        // the choice before this one
	run     int            // how often it has been made since another was
	turns   uint64         // choices so far
	due     time.Time      // no member is stale or forgotten before
	told    time.Time      // when a worker was last told its tempo
}

// len is the number of workers that are known.
func (r *roster) len() int { return len(r.members) }

func (r *roster) find(id string) *member { return r.members[id] }

// update takes in an advert.
func (r *roster) update(id string, a advert, now time.Time) {
	r.expire(now)
	m := r.find(id)
	if a.State == workerGone {
		r.drop(m)
		return
	}
	if m == nil {
		m = r.add(id, now)
	}
	r.unrank(m) // its slots may change
	r.setCatalogue(m, a.Catalogue)
	m.slots, m.draining = a.Slots, a.State == workerDraining
	m.tempo, m.obeys = a.tempo(), a.TempoMs != 0 && a.State == workerUp
	m.report(a.Free)
	m.setClock(time.UnixMilli(a.TimeMs), now)
	m.lastSeen = now
	m.signs.seen(now)
	if !m.draining {
		r.rank(m)
	}
	r.due = earlier(r.due, m.staleAt())
}

func (r *roster) add(id string, now time.Time) *member {
	m := &member{id: id, calls: r.address.calls(id), place: notRanked, lot: rand.Uint32()}
	if len(r.members) == 0 {
		r.members, r.serving = make(map[string]*member), make(map[string]int)
		r.since, r.due = now, farFuture
	}
	r.members[id] = m
	return m
}

// setCatalogue notes what m serves.
func (r *roster) setCatalogue(m *member, catalogue string) {
	if m.serves == catalogue {
		return
	}
	if r.serving[m.serves]--; r.serving[m.serves] <= 0 {
		delete(r.serving, m.serves)
	}
	if m.serves = catalogue; catalogue != "" {
		r.serving[catalogue]++
	}
}

// catalogues returns the digests of what the members serve, sorted, each once.
func (r *roster) catalogues() (digests []string) { return slices.Sorted(maps.Keys(r.serving)) }

// correction is the tempo that m is to be told, 0 if there is none. Nobody is told to
// speed up by an ingress that may not know all workers yet.
func (r *roster) correction(m *member, now time.Time) tempo {
	want := tempoFor(len(r.members))
	if !m.obeys || m.tempo.suits(want) || now.Sub(r.told) < tempoTells ||
		want < m.tempo && now.Sub(r.since) < tempoSurvey {
		return 0
	}
	r.told = now
	return want
}

// expire takes out the members that have been silent for too long: first of those
// that can be chosen, then of those that are known.
func (r *roster) expire(now time.Time) {
	if !now.After(r.due) {
		return
	}
	r.due = farFuture
	for _, m := range r.members {
		switch {
		case now.After(m.forgottenAt()):
			r.drop(m)
			continue
		case now.After(m.staleAt()):
			r.unrank(m)
			r.due = earlier(r.due, m.forgottenAt())
		default:
			r.due = earlier(r.due, m.staleAt())
		}
	}
}

// farFuture is later than any member's time.
var farFuture = time.Unix(1<<40, 0)

// drop forgets a worker that is known to be gone.
func (r *roster) drop(m *member) {
	if m == nil || r.members[m.id] != m {
		return
	}
	r.unrank(m)
	r.setCatalogue(m, "")
	delete(r.members, m.id)
}

// choose returns the worker to send the next request to, or nil if none has a
// free slot: the one with the most of them, and of equals the one whose turn is
// longest ago; or the one that it chose last, see another.
//
// In a crowd it is the better of two at random, as long as one of these has a
// free slot. What an ingress knows of a worker is then older than it takes other
// ingresses to send to it, and if all chose the one that looks best, they would
// all choose the same.
func (r *roster) choose(now time.Time) *member {
	r.expire(now)
	n := len(r.ranking)
	if n == 0 {
		return nil
	}
	best := r.ranking[0]
	if r.another(best) {
		r.run++
		return r.last
	}
	if n > crowd {
		first, second := rand.IntN(n), rand.IntN(n)
		if m := r.ranking[r.ranking.better(first, second)]; m.free() > 0 {
			best = m
		}
	}
	if best.free() <= 0 {
		return nil
	}
	r.last, r.run = best, 1
	return best
}

// first returns the worker with the most free slots, even if that is none; nil if
// there is no worker.
func (r *roster) first(now time.Time) *member {
	r.expire(now)
	if len(r.ranking) == 0 {
		return nil
	}
	return r.ranking[0]
}

// another tells whether the last choice is made once more. Requests that go to the
// same worker share system calls and wake-ups all the way, which are most of what a
// request costs. A sixteenth of a worker's slots makes little difference to the
// worker.
func (r *roster) another(best *member) bool {
	m := r.last
	if m == nil || m.place == notRanked {
		return false
	}
	longest := m.slots / 16
	return r.run < longest && m.free() > max(0, best.free()-longest)
}

// take counts a request that is sent to m.
func (r *roster) take(m *member) {
	r.turns++
	m.turn = r.turns
	m.sent++
	r.sent++
	r.reorder(m)
}

// giveBack counts a request to m that is answered, or given up.
func (r *roster) giveBack(m *member) {
	m.sent--
	r.sent--
	r.reorder(m)
}

// report takes in what m said of its free slots.
func (r *roster) report(m *member, free int) {
	m.report(free)
	r.reorder(m)
}

// drain notes that m takes nothing new.
func (r *roster) drain(m *member) {
	m.draining = true
	r.unrank(m)
}

// capacity is the number of slots of all workers that can be chosen.
func (r *roster) capacity(now time.Time) (slots int) {
	r.expire(now)
	return r.slots
}

// usable is the number of workers that can be chosen.
func (r *roster) usable(now time.Time) int {
	r.expire(now)
	return len(r.ranking)
}

func (r *roster) rank(m *member) {
	r.slots += m.slots
	heap.Push(&r.ranking, m)
}

// unrank is for members in the ranking and for those that are not.
func (r *roster) unrank(m *member) {
	if m.place != notRanked {
		heap.Remove(&r.ranking, m.place)
		r.slots -= m.slots
	}
}

func (r *roster) reorder(m *member) {
	if m.place != notRanked {
		heap.Fix(&r.ranking, m.place)
	}
}

// A ranking is a heap with the member to choose next on top.
type ranking []*member

func (k ranking) Len() int { return len(k) }

func (k ranking) Less(i, j int) bool {
	a, b := k[i], k[j]
	if x, y := a.free(), b.free(); x != y {
		return x > y
	}
	if a.turn != b.turn {
		return a.turn < b.turn
	}
	return a.lot < b.lot
}

func (k ranking) better(i, j int) int {
	if k.Less(j, i) {
		return j
	}
	return i
}

func (k ranking) Swap(i, j int) {
	k[i], k[j] = k[j], k[i]
	k[i].place, k[j].place = i, j
}

func (k *ranking) Push(x any) {
	m := x.(*member)
	m.place = len(*k)
	*k = append(*k, m)
}

func (k *ranking) Pop() any {
	last := len(*k) - 1
	m := (*k)[last]
	(*k)[last] = nil
	*k = (*k)[:last]
	m.place = notRanked
	return m
}
