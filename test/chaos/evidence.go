package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

// An entry is a line of a worker's journal.
type entry struct {
	journal.Event

	worker string
}

// A blow is the moment at which a worker is lost.
type blow struct {
	worker string
	at     time.Time
}

// Evidence is all that is known when a scenario is over: what clients saw, and
// what the workers wrote down.
type evidence struct {
	calls   []*call
	jobs    []*job
	entries map[string][]entry // by call, those of each worker in order
	blows   []blow
	struck  time.Time // when the fault began
}

// readEvidence takes the journals of all workers.
func (e *evidence) readEvidence(f *fleet) error {
	e.entries = make(map[string][]entry)
	for _, w := range f.workers {
		events, err := journal.Read(f.journal(w))
		if err != nil {
			return err
		}
		for _, event := range events {
			e.entries[event.ID] = append(e.entries[event.ID], entry{event, w.name})
		}
	}
	return nil
}

// of returns the entries of one kind about a call.
func (e *evidence) of(c *call, kind journal.Kind) (found []entry) {
	for _, n := range e.entries[c.id] {
		if n.Kind == kind {
			found = append(found, n)
		}
	}
	return found
}

// where returns the calls that match wants.
func (e *evidence) where(match func(*call) bool) (found []*call) {
	for _, c := range e.calls {
		if match(c) {
			found = append(found, c)
		}
	}
	return found
}

// twice returns the calls that were started more than once, of a tool that may be
// or of one that may not.
func (e *evidence) twice(repeatable bool) []*call {
	return e.where(func(c *call) bool {
		return c.repeatable() == repeatable && len(e.of(c, journal.Started)) > 1
	})
}

// caughtBy tells whether the call was running on the worker that b took away.
func (e *evidence) caughtBy(c *call, b blow) bool {
	running := false
	for _, n := range e.entries[c.id] {
		if n.worker == b.worker && n.At.Before(b.at) {
			running = n.Kind == journal.Started
		}
	}
	return running && c.answered.After(b.at)
}

// failures counts how calls failed.
func (e *evidence) failures() map[outcome]int {
	count := make(map[outcome]int)
	for _, c := range e.calls {
		if c.failed() {
			count[c.outcome]++
		}
	}
	return count
}

// longestAnswer is how long the slowest call took, with its work.
func (e *evidence) longestAnswer() (longest time.Duration) {
	for _, c := range e.calls {
		longest = max(longest, c.answered.Sub(c.due))
	}
	return longest
}

// longestSilence is the longest time in which no client was answered while calls
// were made.
func (e *evidence) longestSilence() (longest time.Duration) {
	var answers []time.Time
	var last time.Time // call
	for _, c := range e.calls {
		if c.outcome != cancelled && c.outcome != silent {
			answers = append(answers, c.answered)
		}
		if c.due.After(last) {
			last = c.due
		}
	}
	slices.SortFunc(answers, time.Time.Compare)
	for i := 1; i < len(answers) && answers[i-1].Before(last); i++ {
		longest = max(longest, answers[i].Sub(answers[i-1]))
	}
	return longest
}

// lag is how late a call was sent at most: how long this machine had no time for
// it, which nobody promises anything about.
func (e *evidence) lag() (longest time.Duration) {
	for _, c := range e.calls {
		longest = max(longest, c.sent.Sub(c.due))
	}
	return longest
}

// quantile returns the value below which the share q of all is; 0 of none.
func quantile[T cmp.Ordered](values []T, q float64) T {
	if len(values) == 0 {
		var none T
		return none
	}
	values = slices.Sorted(slices.Values(values))
	return values[int(q*float64(len(values)-1))]
}
