package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// tolerableLag is how late calls may be sent without a word.
const tolerableLag = 200 * time.Millisecond

// A size is how much of each scenario is played.
type size struct {
	short bool
	soak  time.Duration
}

// pick is the number for the short form, or for the long one.
func pick[T any](s size, short, long T) T {
	if s.short {
		return short
	}
	return long
}

// A scenario is one fault under load, and what clients are promised meanwhile,
// beside what they always are.
type scenario struct {
	name     string
	layout   layout
	mix      mix // of the calls that are made all the time; nil: everyday
	rate     int // of these, calls a second; 0: 200, or 500 in the long form
	resends  bool
	fault    func(context.Context, *run) error // injects it, and returns when it is over
	promises []promise
	longOnly bool
}

// A run is a scenario that is played.
type run struct {
	*fleet
	*client
	evidence

	name   string
	size   size
	rate   int
	load   *load   // the calls that are made all the time
	loads  []*load // all
	broken []error // promises
	notes  []string
}

// play plays the scenario with a fleet of its own, which keeps its files in dir.
func (s scenario) play(ctx context.Context, bin, dir string, size size) *run {
	r := &run{fleet: &fleet{}, name: s.name, size: size, rate: cmp.Or(s.rate, pick(size, 200, 500))}
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		r.fleet, err = startFleet(ctx, bin, dir, s.layout)
		if err == nil {
			err = r.strike(ctx, s)
		}
		err = errors.Join(err, r.stop(context.WithoutCancel(ctx)), r.readEvidence(r.fleet))
	}
	if err != nil {
		r.breaks("it was not played to its end: %w", err)
		return r // nothing is shown
	}
	if lag := r.lag(); lag > tolerableLag {
		r.note("calls were sent up to %s late: this machine has other things to do, and the figures are its own", round(lag))
	}
	for _, holds := range slices.Concat(always, s.promises) {
		if err := holds(&r.evidence); err != nil {
			r.broken = append(r.broken, err)
		}
	}
	return r
}

// strike injects the fault while calls are made.
func (r *run) strike(ctx context.Context, s scenario) error {
	r.client = newClient(r.fleet.urls)
	defer r.close()
	r.resends = s.resends
	defer r.endLoads()
	calls := s.mix
	if calls == nil {
		calls = everyday
	}
	r.load = r.begin(ctx, "call", r.rate, calls)
	if err := r.load.more(ctx, r.rate/2); err != nil {
		return err
	}
	r.struck = time.Now()
	if err := s.fault(ctx, r); err != nil {
		return err
	}
	return r.calmDown(ctx)
}

// begin starts a load beside what there is.
func (r *run) begin(ctx context.Context, name string, rate int, m mix) *load {
	l := r.client.begin(ctx, name, rate, m)
	r.loads = append(r.loads, l)
	return l
}

// endLoads ends all loads and takes their calls into the evidence.
func (r *run) endLoads() {
	for _, l := range r.loads {
		l.end()
		r.calls = append(r.calls, l.soFar()...)
	}
}

// calmDown waits until as many calls have been answered as half a second makes,
// if there still are any.
func (r *run) calmDown(ctx context.Context) error {
	select {
	case <-r.load.done:
		return nil
	default:
		return r.load.more(ctx, r.rate/2)
	}
}

// lasts lets what is the matter last for a time.
func lasts(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lose notes that worker is lost from now on.
func (r *run) lose(worker *node) {
	r.blows = append(r.blows, blow{worker.name, time.Now()})
}

// breaks notes a promise that was broken.
func (r *run) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Errorf(format, args...))
}

// note adds a figure to the report.
func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}
