package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// results are the latencies of what has succeeded.
type results struct {
	mu     sync.Mutex
	took   []time.Duration
	failed int
	err    error // the first
}

// measure has a number of callers do something again and again. do returns how
// long it took.
func measure(ctx context.Context, callers int, duration time.Duration, do func(context.Context) (time.Duration, error)) *results {
	var r results
	var all sync.WaitGroup
	end := time.Now().Add(duration)
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) {
				r.add(do(ctx))
			}
		})
	}
	all.Wait()
	return &r
}

func (r *results) add(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.took = append(r.took, took)
		return
	}
	r.failed++
	r.err = cmp.Or(r.err, err)
}

func (r *results) quantile(q float64) float64 {
	if len(r.took) == 0 {
		return 0
	}
	return float64(r.took[int(q*float64(len(r.took)-1))].Microseconds()) / 1000
}

func (r *results) print(out io.Writer, what string, duration time.Duration) {
	slices.Sort(r.took)
	fmt.Fprintf(out, "| %s | %.0f | %d | %.2f | %.2f | %.2f |\n", what,
		float64(len(r.took))/duration.Seconds(), r.failed, r.quantile(0.5), r.quantile(0.99), r.quantile(1))
}

func firstError(all ...*results) error {
	for _, r := range all {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}
