// Command mixed measures short calls beside long ones: workers with few slots,
// 95 % of the calls taking 1 ms and 5 % taking 500 ms, arriving at random at a
// fixed share of what the workers can do. It sends them over the bus and, for
// comparison, through a plain NATS queue group, which picks workers at random.
//
//	go run ./test/load/mixed
//
// It prints the latency of the short calls; what counts is the p99. All runs in
// this process: calls only sleep, so that the machine's speed hardly matters.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/bus/embedded"
)

type settings struct {
	workers, slots, ingresses int
	load                      float64
	duration                  time.Duration
}

// The mix of calls.
const (
	shortCall = time.Millisecond
	longCall  = 500 * time.Millisecond
	longShare = 0.05
)

// rate is the number of calls a second that make up the load.
func (s settings) rate() float64 {
	mean := (1-longShare)*shortCall.Seconds() + longShare*longCall.Seconds()
	return s.load * float64(s.workers*s.slots) / mean
}

// A scheme is a way to have calls answered. Its call blocks until the one that
// takes work to do is done.
type scheme interface {
	call(ctx context.Context, work time.Duration) error
	close() error
}

func main() {
	var s settings
	flag.IntVar(&s.workers, "workers", 4, "`number` of workers")
	flag.IntVar(&s.slots, "slots", 4, "`number` of calls that each runs at once")
	flag.IntVar(&s.ingresses, "ingresses", 1, "`number` of ingresses")
	flag.Float64Var(&s.load, "load", 0.7, "`share` of the workers' capacity to use")
	flag.DurationVar(&s.duration, "duration", 30*time.Second, "`time` of each measurement")
	flag.Parse()
	if err := run(context.Background(), s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mixed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out io.Writer) error {
	dir, err := os.MkdirTemp("", "mcpyard-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	server, err := embedded.Start(embedded.Config{StoreDir: dir, Listen: "127.0.0.1:0"}, log)
	if err != nil {
		return err
	}
	defer server.Close()

	fmt.Fprintf(out, "%d workers of %d slots, %d ingress(es), load %.2f: %.0f calls a second for %s\n",
		s.workers, s.slots, s.ingresses, s.load, s.rate(), s.duration)
	fmt.Fprintln(out, "| scheme | short calls | failed | p50 ms | p99 ms | longest ms |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|")
	for _, kind := range []struct {
		name string
		open func(context.Context, settings, string, *slog.Logger) (scheme, error)
	}{{"bus", openBus}, {"queue group", openQueueGroup}} {
		way, err := kind.open(ctx, s, server.ClientURL(), log)
		if err != nil {
			return err
		}
		r := measure(ctx, s, way)
		if err := way.close(); err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %d | %d | %.1f | %.1f | %.1f |\n",
			kind.name, len(r.short), r.failed, ms(r.quantile(0.5)), ms(r.quantile(0.99)), ms(r.quantile(1)))
		if r.failed > 0 {
			return fmt.Errorf("%s: %d calls failed", kind.name, r.failed)
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// results are the latencies of the short calls, from the time at which each was
// to be sent.
type results struct {
	mu     sync.Mutex
	short  []time.Duration
	failed int
}

func (r *results) add(work, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed++
	} else if work == shortCall {
		r.short = append(r.short, took)
	}
}

func (r *results) quantile(q float64) time.Duration {
	if len(r.short) == 0 {
		return 0
	}
	slices.SortFunc(r.short, cmp.Compare)
	return r.short[int(q*float64(len(r.short)-1))]
}

// measure sends calls at random times, whether earlier ones are answered or not.
func measure(ctx context.Context, s settings, way scheme) *results {
	random := rand.New(rand.NewPCG(1, 2)) // the same calls for every scheme
	var r results
	var calls sync.WaitGroup
	due := time.Now()
	for end := due.Add(s.duration); due.Before(end); {
		due = due.Add(time.Duration(random.ExpFloat64() / s.rate() * float64(time.Second)))
		work := shortCall
		if random.Float64() < longShare {
			work = longCall
		}
		time.Sleep(time.Until(due))
		sent := due
		calls.Go(func() {
			err := way.call(ctx, work)
			r.add(work, time.Since(sent), err)
		})
	}
	calls.Wait()
	return &r
}
