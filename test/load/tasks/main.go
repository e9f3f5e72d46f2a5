// Command tasks measures tasks: how many empty ones a second go from creation to
// completion and how long each takes, and what short calls notice of tasks that
// run beside them.
//
//	go run ./test/load/tasks
//
// All runs in this process, but over TCP and with files: a nats-server, workers
// with the toolset everything, and the end of the bus that an ingress has. A task
// is complete when the client has heard so and then found it so.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"time"
)

type settings struct {
	workers, slots, inFlight int
	duration                 time.Duration
	profile                  string
}

func main() {
	var s settings
	flag.IntVar(&s.workers, "workers", 2, "`number` of workers")
	flag.IntVar(&s.slots, "slots", 96, "`number` of slots of each, of which three quarters take tasks")
	flag.IntVar(&s.inFlight, "in-flight", 64, "`number` of tasks at once")
	flag.DurationVar(&s.duration, "duration", 10*time.Second, "`time` of each measurement")
	flag.StringVar(&s.profile, "cpuprofile", "", "`file` for a CPU profile of the first measurement")
	flag.Parse()
	if err := run(context.Background(), s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tasks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out io.Writer) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	f, err := startFleet(ctx, s, log)
	if err != nil {
		return err
	}
	defer f.close()
	fmt.Fprintf(out, "%d workers of %d slots, %d in flight, each measurement %s\n", s.workers, s.slots, s.inFlight, s.duration)
	fmt.Fprintln(out, "| what | a second | failed | p50 ms | p99 ms | longest ms |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|")
	stop, err := profile(s.profile)
	if err != nil {
		return err
	}
	empty := measure(ctx, s.inFlight, s.duration, f.emptyTask)
	stop()
	empty.print(out, "empty tasks", s.duration)
	const callers = 16
	alone := measure(ctx, callers, s.duration, f.shortCall)
	alone.print(out, "short calls", s.duration)
	cancelAll, err := f.longTasks(ctx, s.inFlight)
	if err != nil {
		return err
	}
	beside := measure(ctx, callers, s.duration, f.shortCall)
	beside.print(out, fmt.Sprintf("short calls beside %d tasks", s.inFlight), s.duration)
	if err := cancelAll(); err != nil {
		return err
	}
	if failed := empty.failed + alone.failed + beside.failed; failed > 0 {
		return fmt.Errorf("%d failed, the first: %w", failed, firstError(empty, alone, beside))
	}
	return nil
}

// profile starts a CPU profile, if there is a file for it.
func profile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
