package bus

import (
	"slices"
	"sync/atomic"
	"time"
)

const (
	// staleAfter is how long a worker that sends no adverts is still chosen.
	staleAfter = 6 * advertEvery
	// forgottenAfter is how long it is remembered.
	forgottenAfter = 40 * advertEvery
)

// A member is a worker incarnation as one ingress sees it.
type member struct {
	id       string
	slots    int
	sent     int       // by this ingress and unanswered
	others   int       // slots taken by other ingresses, as of the last report
	lastSeen time.Time // of the last advert
	draining bool
	serves   string // digest of its catalogue; empty when it does not say
	signs    signs
	offset   atomic.Int64 // its clock minus ours, a time.Duration; read without the pool's lock
}

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

// A roster is the workers of one pool, from their adverts. It is not safe for
// concurrent use.
type roster struct {
	members []*member
	next    int // where the search starts, so that equals take turns
}

func (r *roster) find(id string) *member {
	for _, m := range r.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// update takes in an advert.
func (r *roster) update(id string, a advert, now time.Time) {
	r.forget(now)
	m := r.find(id)
	if a.State == workerGone {
		r.drop(m)
		return
	}
	if m == nil {
		m = &member{id: id}
		r.members = append(r.members, m)
	}
	m.slots, m.draining, m.serves = a.Slots, a.State == workerDraining, a.Catalogue
	m.report(a.Free)
	m.setClock(time.UnixMilli(a.TimeMs), now)
	m.lastSeen = now
	m.signs.seen(now)
}

// catalogues returns the digests of what the members serve, sorted, each once.
func (r *roster) catalogues() (digests []string) {
	for _, m := range r.members {
		if m.serves != "" && !slices.Contains(digests, m.serves) {
			digests = append(digests, m.serves)
		}
	}
	slices.Sort(digests)
	return digests
}

// forget drops the workers that have been silent for long.
func (r *roster) forget(now time.Time) {
	r.members = slices.DeleteFunc(r.members, func(m *member) bool { return now.Sub(m.lastSeen) > forgottenAfter })
}

// drop forgets a worker that is known to be gone.
func (r *roster) drop(gone *member) {
	r.members = slices.DeleteFunc(r.members, func(m *member) bool { return m == gone })
}

// best returns the worker with the most free slots, or nil if none has one.
func (r *roster) best(now time.Time) *member {
	var best *member
	for i := range r.members {
		m := r.members[(r.next+i)%len(r.members)]
		if m.usable(now) && m.free() > 0 && (best == nil || m.free() > best.free()) {
			best = m
		}
	}
	r.next++
	return best
}

func (m *member) usable(now time.Time) bool {
	return !m.draining && now.Sub(m.lastSeen) <= staleAfter
}

// capacity is the number of slots of all workers that can be chosen.
func (r *roster) capacity(now time.Time) (slots int) {
	for _, m := range r.members {
		if m.usable(now) {
			slots += m.slots
		}
	}
	return slots
}
