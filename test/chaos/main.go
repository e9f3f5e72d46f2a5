// Command chaos holds MCPYard to its promises under faults. It builds the commands
// and a nats-server, and for each scenario starts them as processes (two
// ingresses, four workers and one or three servers), makes calls at a constant
// rate, and does one thing to the fleet: it kills, freezes, restarts, cuts off.
//
// Every worker writes down which calls it has started and finished. That is
// compared with what clients saw: it shows what ran twice, or for nobody, and which
// answers were not true.
//
//	go run ./test/chaos            everything, about half an hour
//	go run ./test/chaos -short     less of it, in four minutes
//	go run ./test/chaos -only kill scenarios with that in their names
//
// It prints a table, and fails if a promise was broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpyard/mcpyard/test/process"
)

type config struct {
	size size
	only string
	list bool
}

func main() {
	var cfg config
	flag.BoolVar(&cfg.size.short, "short", false, "play less of each scenario")
	flag.DurationVar(&cfg.size.soak, "soak", 10*time.Minute, "`time` that the soak takes")
	flag.StringVar(&cfg.only, "only", "", "play only scenarios whose names contain this `text`")
	flag.BoolVar(&cfg.list, "list", false, "list the scenarios")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := playAll(ctx, cfg, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// scenarios returns those that were asked for.
func (c config) scenarios() []scenario {
	all := slices.Concat(rolling(), crashes(), freezes(), networks(), skews(), cancels(), floods(), large(), tasks(), soaks())
	return slices.DeleteFunc(all, func(s scenario) bool {
		return s.longOnly && c.size.short || !strings.Contains(s.name, c.only)
	})
}

func playAll(ctx context.Context, cfg config, out io.Writer) error {
	scenarios := cfg.scenarios()
	if len(scenarios) == 0 {
		return fmt.Errorf("no scenario has %q in its name", cfg.only)
	}
	if cfg.list {
		for _, s := range scenarios {
			fmt.Fprintln(out, s.name)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mcpyard-chaos-")
	if err != nil {
		return err
	}
	process.ClearFlags()
	if err := build(ctx, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	writeHeader(out)
	var runs []*run
	for i, s := range scenarios {
		r := s.play(ctx, dir, filepath.Join(dir, strconv.Itoa(i+1)), cfg.size)
		writeRow(out, r)
		runs = append(runs, r)
		if ctx.Err() != nil {
			break
		}
	}
	if broken := report(out, runs); broken > 0 {
		return fmt.Errorf("%d promises were broken; logs and journals are in %s", broken, dir)
	}
	return os.RemoveAll(dir)
}

// build builds what the fleet is made of.
func build(ctx context.Context, dir string) error {
	const module = "github.com/mcpyard/mcpyard/"
	return process.Build(ctx, dir, module+"cmd/ingress", module+"test/chaos/worker", module+"test/chaos/trusting", process.NATSServer)
}
