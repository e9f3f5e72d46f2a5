package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A long time in which nothing is the matter.
func soaks() []scenario {
	return []scenario{{
		name:     "soak",
		mix:      mixed,
		fault:    soak,
		promises: []promise{noneFails, usuallyWithin(time.Second)},
		longOnly: true,
	}}
}

// mixed is calls of all sorts: a tenth is 64 KiB large, and of another tenth the
// client goes away.
func mixed(r *rand.Rand) call {
	switch n := r.IntN(10); n {
	case 0:
		return fickle(r)
	case 1:
		c := everyday(r)
		c.text = letters(r, 64<<10)
		return c
	default:
		return everyday(r)
	}
}

// A series is what was measured of something, at equal distances.
type series []float64

func soak(ctx context.Context, r *run) error {
	measured := make(map[string]series)
	for end := time.Now().Add(r.size.soak); time.Now().Before(end); {
		if err := lasts(ctx, r.size.soak/200); err != nil {
			return err
		}
		if err := r.measure(ctx, measured); err != nil {
			return err
		}
	}
	for _, what := range slices.Sorted(maps.Keys(measured)) {
		was, is := measured[what].quarter(1), measured[what].quarter(3)
		r.note("%s: at least %.0f in the second quarter, %.0f in the last", what, was, is)
		if is > 1.2*was+slack(what) {
			r.breaks("%s has grown from %.0f to %.0f", what, was, is)
		}
	}
	return nil
}

// measure adds the present figures of all processes to the series.
func (r *run) measure(ctx context.Context, all map[string]series) error {
	add := func(n *node, what string, value float64) { all[n.name+" "+what] = append(all[n.name+" "+what], value) }
	for _, n := range append(slices.Clone(r.workers), r.ingresses...) {
		s, err := n.readiness(ctx)
		if err != nil {
			return fmt.Errorf("measure %s: %w", n.name, err)
		}
		add(n, "goroutines", s.Usage.Goroutines)
		add(n, "live KiB", s.Usage.LiveHeapBytes/1024)
	}
	for _, s := range r.servers {
		n, err := s.subscriptions(ctx)
		if err != nil {
			return fmt.Errorf("measure %s: %w", s.name, err)
		}
		add(&s.node, "subscriptions", n)
	}
	return nil
}

// slack is what differs from one moment to the next without meaning anything.
func slack(what string) float64 {
	switch {
	case strings.HasSuffix(what, "goroutines"):
		return 50
	case strings.HasSuffix(what, "live KiB"):
		return 2048
	}
	return 0
}

// quarter is the smallest value of the n-th quarter, from 0: what a moment of much
// work adds goes again, and what leaks stays.
func (s series) quarter(n int) float64 { return slices.Min(s[n*len(s)/4 : (n+1)*len(s)/4]) }
