// Command conformance runs the official MCP conformance suite against MCPYard:
// the built commands with a nats-server and three workers, and everything in one
// process. It needs Node.js and npm, which fetch the suite that package.json
// pins.
//
//	go run ./test/conformance
//
// It fails on every scenario that fails and is not in baseline.txt, and on every
// one that is in it and passes: the baseline may only shrink.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// revision is what the suite is asked to test.
const revision = "2026-07-28"

//go:embed baseline.txt
var baselineText string

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
	var problems []error
	for _, d := range deployments {
		fmt.Fprintf(out, "== %s\n", d.name)
		results, err := d.test(ctx, suite, dir, verbose, out)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		known := baseline()
		report(out, results, known)
		problems = append(problems, compare(d.name, results, known))
	}
	return errors.Join(problems...)
}

// report tells how many scenarios pass, and what is wrong with those that should.
func report(out io.Writer, results []result, known []string) {
	passing := 0
	for _, r := range results {
		switch {
		case r.passed():
			passing++
		case !slices.Contains(known, r.scenario):
			r.complain(out)
		}
	}
	fmt.Fprintf(out, "%d of %d scenarios pass, %d are known not to\n", passing, len(results), len(known))
}

// baseline is the scenarios that are known to fail, one on each line.
func baseline() (scenarios []string) {
	for line := range strings.Lines(baselineText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			scenarios = append(scenarios, line)
		}
	}
	return scenarios
}

// compare reports results that are not as the baseline has them.
func compare(deployment string, results []result, known []string) error {
	var problems []error
	for _, r := range results {
		switch expected := slices.Contains(known, r.scenario); {
		case !r.passed() && !expected:
			problems = append(problems, fmt.Errorf("%s: %s fails", deployment, r.scenario))
		case r.passed() && expected:
			problems = append(problems, fmt.Errorf("%s: %s passes: take it out of baseline.txt", deployment, r.scenario))
		}
	}
	return errors.Join(problems...)
}

// here is this program's folder, from the module's root.
var here = filepath.Join("test", "conformance")
