package bus

import (
	"strconv"
	"time"
)

// A tempo says how often a worker sends adverts, in milliseconds. Ingresses tell it
// to workers, so that the adverts of a pool cost much the same however many workers
// it has.
type tempo int64

const (
	// leastTempo is that of a worker which has not been told any.
	leastTempo tempo = 8
	// mostTempo bounds the time in which a worker that is lost is noticed.
	mostTempo tempo = 10_000
	// tempoPerWorker aims at 500 adverts a second from all workers of a pool together
	// when nothing happens, and 2,000 more because slots are free. See suits: it may be
	// twice that.
	tempoPerWorker tempo = 2

	// advertEvery is how often a worker that nothing happens to sends an advert,
	// unless its tempo is slower.
	advertEvery = 250 * time.Millisecond
	// forgottenAfter is how long a worker is remembered that sends no adverts.
	forgottenAfter = 40 * advertEvery

	// tempoSurvey is how long an ingress listens before it has workers speed up: it
	// has heard all workers of the slowest tempo then.
	tempoSurvey = 2 * time.Duration(mostTempo) * time.Millisecond
	// tempoTells is the least time between two tellings of one ingress.
	tempoTells = time.Millisecond
)

// tempoFor is the tempo that suits a pool of that many workers.
func tempoFor(workers int) tempo { return (tempo(workers) * tempoPerWorker).within() }

func (p tempo) within() tempo { return min(max(p, leastTempo), mostTempo) }

// every is the time between two adverts when nothing happens.
func (p tempo) every() time.Duration { return max(advertEvery, time.Duration(p)*time.Millisecond) }

// least is the time between two adverts when slots become free.
func (p tempo) least() time.Duration { return time.Duration(p) * time.Millisecond / 4 }

// staleAfter is how long a worker is chosen that sends no adverts. Two of them may
// be lost.
func (p tempo) staleAfter() time.Duration { return 2*p.every() + 4*advertEvery }

// forgottenAfter is how long it is remembered.
func (p tempo) forgottenAfter() time.Duration { return forgottenAfter + 4*(p.every()-advertEvery) }

// suits tells whether a worker need not change its tempo to want. There has to be
// something between slow enough and too slow, or pools whose size changes a little
// would talk of nothing else.
func (p tempo) suits(want tempo) bool { return 2*p >= want && p <= 2*want }

// message is what tells a worker its tempo.
func (p tempo) message() []byte { return strconv.AppendInt([]byte(wordTempo+" "), int64(p), 10) }

// parseTempo reads the words of such a message behind the first.
func parseTempo(words []string) (p tempo, ok bool) {
	if len(words) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	return tempo(n).within(), err == nil
}
