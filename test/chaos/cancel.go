package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

// cancelSoon is how soon a tool learns that its client is gone.
const cancelSoon = 200 * time.Millisecond

// Clients that go away, and tools that do not care.
func cancels() []scenario {
	return []scenario{{
		name:     "1,000 calls cancelled",
		layout:   layout{slots: 16},
		mix:      fickle,
		rate:     200,
		fault:    cancelMany,
		promises: []promise{noneFails, endsSoon, noneAfterItsCancel},
	}, {
		name:     "a worker stops with tools that ignore it",
		layout:   layout{workerFlags: []string{"-grace", grace.String()}},
		fault:    stopStubborn,
		promises: []promise{onlyStubbornFail, caughtStubbornAreUnknown, caughtWithin(grace + 1500*time.Millisecond)},
	}}
}

// fickle is calls whose clients go away at any time, most before the answer.
func fickle(r *rand.Rand) call {
	c := everyday(r)
	c.work += 200 * time.Millisecond
	c.giveUp = between(r, time.Millisecond, c.work+20*time.Millisecond)
	return c
}

func cancelMany(ctx context.Context, r *run) error {
	if err := r.load.more(ctx, 1100); err != nil {
		return err
	}
	r.load.end()
	return r.allSlotsFree(ctx)
}

// endsSoon: a tool's context ends soon after its client has gone.
func endsSoon(e *evidence) error {
	var took []time.Duration
	for _, c := range e.where(func(c *call) bool { return c.outcome == cancelled }) {
		if len(e.of(c, journal.Started)) == 0 {
			continue
		}
		ends := append(e.of(c, journal.Ended), e.of(c, journal.Finished)...)
		if len(ends) == 0 {
			return fmt.Errorf("%s was cancelled, and never came to an end", c.id)
		}
		took = append(took, max(0, ends[0].At.Sub(c.answered)))
	}
	return atMost(took, cancelSoon, "tools saw their context end")
}

// noneAfterItsCancel: nothing starts when its client has been gone for a while.
func noneAfterItsCancel(e *evidence) error {
	return none(e.where(func(c *call) bool {
		late := c.answered.Add(cancelSoon)
		return c.outcome == cancelled && slices.ContainsFunc(e.of(c, journal.Started), func(n entry) bool { return n.At.After(late) })
	}), "started more than %s after their cancel", cancelSoon)
}

// allSlotsFree holds the workers to having all their slots free, when nothing is
// asked of them.
func (r *run) allSlotsFree(ctx context.Context) error {
	conn, err := nats.Connect(r.servers[0].url())
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := eventually(ctx, func() (bool, error) { return slotsFree(ctx, conn) }); err != nil {
		r.breaks("slots are not free again: %w", err)
	}
	return nil
}

// slotsFree asks the workers, by the discovery of NATS services.
func slotsFree(ctx context.Context, conn *nats.Conn) (bool, error) {
	answers, err := conn.SubscribeSync(conn.NewInbox())
	if err != nil {
		return false, err
	}
	defer func() { _ = answers.Unsubscribe() }() // it ends with the connection at the latest
	if err := conn.PublishRequest("$SRV.STATS", answers.Subject, nil); err != nil {
		return false, err
	}
	for range workers {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return false, err
		}
		var stats struct {
			ID        string
			Endpoints []struct {
				Data struct{ Slots, FreeSlots int }
			}
		}
		if err := json.Unmarshal(m.Data, &stats); err != nil {
			return false, err
		}
		for _, e := range stats.Endpoints {
			if e.Data.FreeSlots != e.Data.Slots {
				return false, fmt.Errorf("%s has %d of %d", stats.ID, e.Data.FreeSlots, e.Data.Slots)
			}
		}
	}
	return true, nil
}

// grace is what workers have here for what is in flight when they stop.
const grace = time.Second

// stubborn is calls that outlast the grace period, whatever becomes of their
// context.
func stubborn(*rand.Rand) call { return call{tool: "stubborn", work: 8 * time.Second} }

// stopStubborn stops two workers that each have such calls.
func stopStubborn(ctx context.Context, r *run) error {
	calls := r.begin(ctx, "stubborn", 20, stubborn)
	if err := lasts(ctx, time.Second); err != nil {
		return err
	}
	calls.stop()
	for _, w := range r.workers[:2] {
		r.lose(w)
		begun := time.Now()
		if err := w.stop(ctx); err != nil {
			return err
		}
		if took := time.Since(begun); took > grace+2*time.Second {
			r.breaks("%s took %s to stop with a grace period of %s", w.name, round(took), grace)
		}
		if err := w.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func onlyStubbornFail(e *evidence) error {
	return none(e.where(func(c *call) bool { return c.failed() && c.tool != "stubborn" }), "failed beside the stubborn ones")
}

func caughtStubbornAreUnknown(e *evidence) error {
	caught := e.where(func(c *call) bool {
		return c.tool == "stubborn" && slices.ContainsFunc(e.blows, func(b blow) bool { return e.caughtBy(c, b) })
	})
	if len(caught) == 0 {
		return fmt.Errorf("no stubborn call was running on a worker that stopped: nothing is shown")
	}
	return none(slices.DeleteFunc(caught, func(c *call) bool { return c.outcome == outcomeUnknown }), "were not told that their outcome is unknown")
}
