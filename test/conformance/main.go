// Command conformance runs the official MCP conformance suite against MCPYard:
// the built commands with a nats-server and three workers, and everything in one
// process. It needs Node.js and npm, which fetch the suite that package.json
// pins.
//
//	go run ./test/conformance
//
// It fails unless the scenarios are those of scenarios.txt, no more and no fewer,
// and exactly those fail that are marked there as known to fail.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// revision is what the suite is asked to test.
const revision = "2026-07-28"

//go:embed scenarios.txt
var scenariosText string

func main() {
	verbose := flag.Bool("v", false, "show the suite's own output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *verbose, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, verbose bool, out io.Writer) error {
	dir, err := os.MkdirTemp("", "mcpyard-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	suite, err := installSuite(ctx, out)
	if err != nil {
		return err
	}
	if err := build(ctx, dir); err != nil {
		return err
	}
	known := scenarios(scenariosText)
	var problems []error
	for _, d := range deployments {
		fmt.Fprintf(out, "== %s\n", d.name)
		results, err := d.test(ctx, suite, dir, verbose, out)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		report(out, results, known)
		problems = append(problems, compare(d.name, results, known))
	}
	return errors.Join(problems...)
}

// scenarios reads a list of scenarios, one on each line, and which of them are
// known to fail: those with a "!" before the name.
func scenarios(list string) map[string]bool {
	known := make(map[string]bool)
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			name, fails := strings.CutPrefix(line, "!")
			known[name] = fails
		}
	}
	return known
}

// report tells how many scenarios pass, and what is wrong with those that should.
func report(out io.Writer, results []result, known map[string]bool) {
	passing := 0
	for _, r := range results {
		switch {
		case r.passed():
			passing++
		case !known[r.scenario]:
			r.complain(out)
		}
	}
	fmt.Fprintf(out, "%d of %d scenarios pass\n", passing, len(known))
}

// compare reports results that are not as the list has them.
func compare(deployment string, results []result, known map[string]bool) error {
	var problems []error
	complain := func(scenario, fault string) {
		problems = append(problems, fmt.Errorf("%s: %s %s", deployment, scenario, fault))
	}
	missing := maps.Clone(known)
	for _, r := range results {
		fails, listed := known[r.scenario]
		delete(missing, r.scenario)
		switch {
		case !listed:
			complain(r.scenario, "is new: add it to scenarios.txt")
		case !r.passed() && !fails:
			complain(r.scenario, "fails")
		case r.passed() && fails:
			complain(r.scenario, "passes: take its mark away in scenarios.txt")
		}
	}
	for _, scenario := range slices.Sorted(maps.Keys(missing)) {
		complain(scenario, "was not run")
	}
	return errors.Join(problems...)
}

// here is this program's folder, from the module's root.
var here = filepath.Join("test", "conformance")
