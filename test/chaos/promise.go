package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

// A promise is what clients may expect of a scenario; it tells how it was broken.
type promise func(*evidence) error

// always is what clients are promised whatever happens.
var always = []promise{noneTwice, noneAfterItsAnswer, noneSilent, truthful, wellFormed}

// noneTwice: no call runs twice of a tool that must not.
func noneTwice(e *evidence) error {
	return none(e.twice(false), "started twice")
}

// noneAfterItsAnswer: nothing starts for a client that has its answer.
func noneAfterItsAnswer(e *evidence) error {
	unanswered := []outcome{cancelled, cut, silent}
	return none(e.where(func(c *call) bool {
		return !slices.Contains(unanswered, c.outcome) && slices.ContainsFunc(e.of(c, journal.Started), func(n entry) bool { return n.At.After(c.answered) })
	}), "started after they were answered")
}

// noneSilent: every call is answered.
func noneSilent(e *evidence) error {
	return none(e.where(func(c *call) bool { return c.outcome == silent }), "not answered within %s", clientPatience)
}

// truthful: a success was a run to the end, and what was said not to have been
// started was not.
func truthful(e *evidence) error {
	return none(e.where(func(c *call) bool {
		switch c.outcome {
		case wrong:
			return true
		case succeeded:
			return len(e.of(c, journal.Finished)) == 0
		case cut, cancelled, silent:
			return false
		}
		return !c.unproven && len(e.of(c, journal.Started)) > 0
	}), "answered with what is not true")
}

// wellFormed: refusals say when to come back.
func wellFormed(e *evidence) error {
	flawed := e.where(func(c *call) bool { return c.flaw != "" })
	if len(flawed) == 0 {
		return nil
	}
	return none(flawed, "%s", flawed[0].flaw)
}

// noneFails: every call succeeds.
func noneFails(e *evidence) error { return failsOnlyWith()(e) }

// failsOnlyWith: calls fail only in these ways.
func failsOnlyWith(allowed ...outcome) promise {
	return func(e *evidence) error {
		return none(e.where(func(c *call) bool { return c.failed() && !slices.Contains(allowed, c.outcome) }), "failed %s", notWith(allowed))
	}
}

func notWith(allowed []outcome) string {
	if len(allowed) == 0 {
		return "at all"
	}
	return fmt.Sprintf("otherwise than with %v", allowed)
}

// repeatablesSucceed: calls of a tool that may run twice do not fail.
func repeatablesSucceed(e *evidence) error {
	return none(e.where(func(c *call) bool { return c.failed() && c.repeatable() }), "failed and could have been sent again")
}

// within: each answer takes at most so much longer than the work.
func within(most time.Duration) promise {
	return func(e *evidence) error {
		return none(e.where(func(c *call) bool { return c.outcome != cancelled && c.delay() > most }), "answered more than %s late", most)
	}
}

// usuallyWithin: 99 % of the answers do.
func usuallyWithin(most time.Duration) promise {
	return func(e *evidence) error {
		var delays []time.Duration
		for _, c := range e.calls {
			delays = append(delays, c.delay())
		}
		return atMost(delays, most, "answers later than the work takes")
	}
}

// caughtWithin: of the calls that a worker was running when it was lost, 99 % are
// answered so soon after that, or after the work done again.
func caughtWithin(most time.Duration) promise {
	return func(e *evidence) error {
		var late []time.Duration
		for _, b := range e.blows {
			for _, c := range e.where(func(c *call) bool { return e.caughtBy(c, b) }) {
				d := c.answered.Sub(b.at)
				if c.outcome == succeeded {
					d -= c.work
				}
				late = append(late, d)
			}
		}
		if len(late) == 0 {
			return fmt.Errorf("no call was running on a worker that was lost: nothing is shown")
		}
		return atMost(late, most, "calls caught in a loss answered")
	}
}

// keepsPace: the p99 of one kind of calls under the fault is less than factor
// times what it was before.
func keepsPace(kind string, factor float64) promise {
	return func(e *evidence) error {
		var before, during []time.Duration
		for _, c := range e.calls {
			switch {
			case c.kind != kind:
			case c.due.Before(e.struck):
				before = append(before, c.answered.Sub(c.due))
			default:
				during = append(during, c.answered.Sub(c.due))
			}
		}
		was, is := quantile(before, 0.99), quantile(during, 0.99)
		if len(before) == 0 || float64(is) >= factor*float64(was) {
			return fmt.Errorf("%q calls: p99 of %d before the fault %s, of %d under it %s; want less than %g times",
				kind, len(before), round(was), len(during), round(is), factor)
		}
		return nil
	}
}

// atMost holds the p99 of durations against a bound.
func atMost(values []time.Duration, most time.Duration, what string) error {
	if p99 := quantile(values, 0.99); p99 > most {
		return fmt.Errorf("%d %s: p50 %s, p99 %s, longest %s; want p99 at most %s",
			len(values), what, round(quantile(values, 0.5)), round(p99), round(quantile(values, 1)), most)
	}
	return nil
}

// none is an error if there are calls, of which it names one.
func none(calls []*call, what string, args ...any) error {
	if len(calls) == 0 {
		return nil
	}
	c := calls[0]
	result := string(c.outcome)
	if result == "" {
		result = "success"
	}
	return fmt.Errorf("%d calls %s, such as %s (%s, %s): %s after %s",
		len(calls), fmt.Sprintf(what, args...), c.id, c.tool, c.work, result, round(c.answered.Sub(c.due)))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
