package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/test/load/rig"
)

// A worker counts its calls and how long they took.
type worker struct {
	mean        time.Duration
	calls, busy atomic.Int64
}

// handle sleeps, between half as long as the mean and half as long again.
func (w *worker) handle(ctx context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
	start := time.Now()
	select {
	case <-time.After(w.mean/2 + rand.N(w.mean)):
	case <-ctx.Done():
	}
	w.calls.Add(1)
	w.busy.Add(int64(time.Since(start)))
	return mcp.ResultResponse(req.ID, []byte(`{}`))
}

// measure sends calls at random times to random ingresses, and prints how the
// workers shared them.
func (f *fleet) measure(ctx context.Context, s settings, out io.Writer) error {
	f.send(ctx, s, 2*s.mean) // until as many end as begin
	for i := range f.workers {
		f.workers[i].calls.Store(0)
		f.workers[i].busy.Store(0)
	}
	adverts, bounces, cpu := f.adverts.Load(), f.bounces.Load(), rig.CPU()
	sent, failed := f.send(ctx, s, s.duration)
	if failed > 0 {
		return fmt.Errorf("%d of %d calls failed", failed, sent)
	}
	took := s.duration + s.mean
	fmt.Fprintf(out, "load %.2f: %d calls in %s, %.2f bounces a call, %.0f adverts a second, %.0f CPU-us a call in all\n",
		s.load, sent, s.duration, float64(f.bounces.Load()-bounces)/float64(sent),
		float64(f.adverts.Load()-adverts)/took.Seconds(), float64((rig.CPU()-cpu).Microseconds())/float64(sent))
	fmt.Fprintf(out, "the busiest worker: %.1f %% more than the mean of time, %.1f %% of calls\n",
		f.excess(func(w *worker) int64 { return w.busy.Load() }), f.excess(func(w *worker) int64 { return w.calls.Load() }))
	return nil
}

// excess is by how much the worker with the most of something has more than the
// mean, in per cent.
func (f *fleet) excess(of func(*worker) int64) float64 {
	var all []int64
	var sum int64
	for i := range f.workers {
		all = append(all, of(&f.workers[i]))
		sum += all[i]
	}
	return 100 * (float64(slices.MaxFunc(all, cmp.Compare))*float64(len(all))/float64(sum) - 1)
}

// send sends calls for that time, and waits for all responses.
func (f *fleet) send(ctx context.Context, s settings, duration time.Duration) (sent int, failed int64) {
	var calls sync.WaitGroup
	var errors atomic.Int64
	req := rig.Call("sleep")
	due := time.Now()
	for end := due.Add(duration); due.Before(end); sent++ {
		due = due.Add(time.Duration(rand.ExpFloat64() / s.rate() * float64(time.Second)))
		time.Sleep(time.Until(due))
		c := f.clients[rand.IntN(len(f.clients))]
		calls.Go(func() {
			if c.Handle(ctx, req, func([]byte) {}).Code != 0 {
				errors.Add(1)
			}
		})
	}
	calls.Wait()
	return sent, errors.Load()
}
