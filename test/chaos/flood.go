package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// The flood is ten times of what the workers can do.
const (
	floodSlots = 2
	floodWork  = 100 * time.Millisecond
	floodRate  = 10 * workers * floodSlots * int(time.Second/floodWork)
	// mostMemory bounds what an ingress takes under it.
	mostMemory = 256 << 20
)

// One principal that asks for more than there is, beside another that does not.
func floods() []scenario {
	return []scenario{{
		name:     "flood by one principal",
		layout:   layout{slots: floodSlots, principals: []string{"flooder", "bystander"}, deadline: 5 * time.Second},
		mix:      as("bystander"),
		rate:     5,
		fault:    flood,
		promises: []promise{failsOnlyWith(overloaded), succeeds("bystander"), keepsPace("bystander", 3), floodIsRefused},
	}}
}

// as is calls of a principal, which all take the same time.
func as(principal string) mix {
	return func(*rand.Rand) call {
		return call{tool: "read", work: floodWork, kind: principal, principal: principal}
	}
}

func flood(ctx context.Context, r *run) error {
	if err := r.load.more(ctx, pick(r.size, 25, 250)); err != nil {
		return err
	}
	r.struck = time.Now()
	water := r.begin(ctx, "flood", floodRate, as("flooder"))
	defer water.stop()
	watching, stop := context.WithTimeout(ctx, pick(r.size, 6*time.Second, time.Minute))
	defer stop()
	most := r.watchMemory(watching)
	r.note("an ingress took at most %d MiB", most>>20)
	if most > mostMemory {
		r.breaks("an ingress took %d MiB of memory, want at most %d", most>>20, mostMemory>>20)
	}
	return ctx.Err()
}

// watchMemory returns the most memory that an ingress takes until ctx ends.
func (r *run) watchMemory(ctx context.Context) (most int) {
	for lasts(ctx, 100*time.Millisecond) == nil {
		for _, n := range r.ingresses {
			if s, err := n.readiness(ctx); err == nil {
				most = max(most, int(s.Usage.MemoryBytes))
			}
		}
	}
	return most
}

// succeeds: all calls of that kind do.
func succeeds(kind string) promise {
	return func(e *evidence) error {
		return none(e.where(func(c *call) bool { return c.kind == kind && c.failed() }), "of the %s failed", kind)
	}
}

func floodIsRefused(e *evidence) error {
	if e.failures()[overloaded] == 0 {
		return errors.New("nothing was refused: there was no flood")
	}
	return nil
}
