// Command growth measures what a call costs in processor time, client, nats-server
// and worker together, and by how much that grows with the number of workers, of
// registered tools and of principals.
//
//	go run ./test/load/growth
//
// All runs in this process. What is compared takes turns, so that what else the
// machine does hits all alike, and the median of the rounds counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
	"github.com/mcpyard/mcpyard/test/load/rig"
)

type settings struct{ calls, callers, rounds int }

// A setup is what is measured.
type setup struct{ workers, tools, principals int }

func main() {
	var s settings
	flag.IntVar(&s.calls, "calls", 20_000, "`number` of calls in a round")
	flag.IntVar(&s.callers, "callers", 16, "`number` of calls at once for each worker")
	flag.IntVar(&s.rounds, "rounds", 5, "`number` of rounds for each setup")
	flag.Parse()
	if err := run(context.Background(), s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out io.Writer) error {
	small := setup{workers: 1, tools: 10, principals: 1}
	fmt.Fprintln(out, "| workers | tools | principals | CPU-us a call | growth |")
	fmt.Fprintln(out, "|--:|--:|--:|--:|--:|")
	for _, large := range []setup{{64, 10, 1}, {1, 10_000, 1}, {1, 10, 1000}} {
		before, after, err := compare(ctx, s, small, large)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %d | %d | %d | %.1f | |\n", small.workers, small.tools, small.principals, before)
		fmt.Fprintf(out, "| %d | %d | %d | %.1f | %+.1f %% |\n", large.workers, large.tools, large.principals, after, 100*(after/before-1))
	}
	return nil
}

// compare returns the median of what a call costs in each setup, in microseconds.
func compare(ctx context.Context, s settings, setups ...setup) (first, second float64, err error) {
	var costs [2][]float64
	var benches [2]*bench
	for i, setup := range setups {
		if benches[i], err = newBench(ctx, setup); err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, benches[i].rig.Close()) }()
	}
	for _, b := range benches { // a worker has to see each tool ten times until it knows that it is quick
		if _, err := b.round(ctx, max(s.calls, 10*len(b.requests)*b.workers), s.callers); err != nil {
			return 0, 0, err
		}
	}
	for range s.rounds {
		for i, b := range benches {
			cost, err := b.round(ctx, s.calls, s.callers)
			if err != nil {
				return 0, 0, err
			}
			costs[i] = append(costs[i], cost)
		}
	}
	return median(costs[0]), median(costs[1]), nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// A bench is a setup that runs.
type bench struct {
	rig      *rig.Rig
	workers  int
	client   *bus.Client
	requests []*mcp.Request // one for each tool and principal that is used
}

func newBench(ctx context.Context, s setup) (*bench, error) {
	r, err := rig.Start()
	if err != nil {
		return nil, err
	}
	b := &bench{rig: r, workers: s.workers}
	if err := b.start(ctx, s); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	for i := range max(s.tools, s.principals) {
		req := rig.Call("echo" + strconv.Itoa(i%s.tools))
		req.Principal = "principal" + strconv.Itoa(i%s.principals)
		b.requests = append(b.requests, req)
	}
	return b, nil
}

func (b *bench) start(ctx context.Context, s setup) (err error) {
	if b.client, err = b.rig.Open(ctx); err != nil {
		return err
	}
	dispatcher, err := dispatch.New(dispatch.Config{Toolsets: []mcp.Toolset{echoes(s.tools)}}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	for range s.workers {
		conn, err := b.rig.Connect(ctx)
		if err != nil {
			return err
		}
		if err := b.rig.Work(ctx, conn, 64, dispatcher.Handle); err != nil {
			return err
		}
	}
	return b.rig.Knows(b.client, s.workers)
}

// echoes is a toolset of n tools that return their argument.
func echoes(n int) mcp.Toolset {
	type arguments struct {
		Text string `json:"text"`
	}
	set := mcp.Toolset{Name: "echoes"}
	for i := range n {
		set.Tools = append(set.Tools, tools.New(mcp.Tool{
			Name:        "echo" + strconv.Itoa(i),
			InputSchema: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		}, func(_ context.Context, _ *mcp.ToolCall, in arguments) (string, error) { return in.Text, nil }))
	}
	return set
}

// round makes calls, so many at once for each worker, and returns what one cost.
func (b *bench) round(ctx context.Context, calls, callers int) (microseconds float64, err error) {
	var work sync.WaitGroup
	var next, failed atomic.Int64
	before := rig.CPU()
	for range callers * b.workers {
		work.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(calls) {
					return
				}
				if b.client.Handle(ctx, b.requests[i%int64(len(b.requests))], func([]byte) {}).Code != 0 {
					failed.Add(1)
				}
			}
		})
	}
	work.Wait()
	if n := failed.Load(); n > 0 {
		return 0, fmt.Errorf("%d of %d calls failed", n, calls)
	}
	return float64(rig.CPU()-before) / float64(time.Microsecond) / float64(calls), nil
}
