package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
)

// nodeVersion is fetched where the installed Node.js is too old for the suite.
const nodeVersion = "22.23.3"

// A suite is the installed conformance suite.
type suite struct{ node, script string }

// installSuite installs what package-lock.json pins, and a Node.js that is new
// enough if there is none.
func installSuite(ctx context.Context, out io.Writer) (suite, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return suite{}, fmt.Errorf("the conformance suite comes from npm, install Node.js: %w", err)
	}
	if err := npm(ctx, out, "ci"); err != nil {
		return suite{}, err
	}
	s := suite{node: "node", script: filepath.Join(here, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}
	if exec.CommandContext(ctx, s.node, "-e", `process.exit(require("fs").globSync ? 0 : 1)`).Run() == nil {
		return s, nil
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	name := "node-" + runtime.GOOS + "-" + arch
	if err := npm(ctx, out, "install", "--no-save", name+"@"+nodeVersion); err != nil {
		return suite{}, err
	}
	s.node = filepath.Join(here, "node_modules", name, "bin", "node")
	return s, nil
}

func npm(ctx context.Context, out io.Writer, args ...string) error {
	command := exec.CommandContext(ctx, "npm", append(args, "--loglevel=error", "--no-progress")...)
	command.Dir, command.Stdout, command.Stderr = here, out, out
	if err := command.Run(); err != nil {
		return fmt.Errorf("npm %s: %w", args[0], err)
	}
	return nil
}

// A result is what the suite found out in one scenario.
type result struct {
	scenario string
	checks   []check
}

type check struct {
	ID      string
	Status  string
	Message string `json:"errorMessage"`
}

// passed tells whether nothing in the scenario failed. Warnings count, as they
// are what the specification says a server should do.
func (r result) passed() bool {
	return !slices.ContainsFunc(r.checks, func(c check) bool { return c.Status == "FAILURE" || c.Status == "WARNING" })
}

// complain shows what is wrong.
func (r result) complain(out io.Writer) {
	for _, c := range r.checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			fmt.Fprintf(out, "%s %s %s: %s\n", c.Status, r.scenario, c.ID, c.Message)
		}
	}
}

// test runs all scenarios against the server at url.
func (s suite) test(ctx context.Context, url, dir string, verbose bool, out io.Writer) ([]result, error) {
	command := exec.CommandContext(ctx, s.node, s.script, "server", "--url", url, "--requirements", revision, "--output-dir", dir)
	if verbose {
		command.Stdout, command.Stderr = out, out
	}
	suiteErr := command.Run()
	results, err := readResults(dir)
	if err == nil && !explained(suiteErr, results) {
		err = fmt.Errorf("the suite has not come to its end, try -v: %w", suiteErr)
	}
	return results, err
}

// explained tells whether the results say all that the suite's error does: it
// exits with one when a scenario fails.
func explained(suiteErr error, results []result) bool {
	if suiteErr == nil {
		return true
	}
	exit, ok := errors.AsType[*exec.ExitError](suiteErr)
	return ok && exit.Exited() && slices.ContainsFunc(results, func(r result) bool { return !r.passed() })
}

// folderName is what the suite names a scenario's folder.
var folderName = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readResults(dir string) (results []result, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := folderName.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			return nil, fmt.Errorf("results in a folder of an unknown name: %s", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := result{scenario: name[1]}
		if err := json.Unmarshal(text, &r.checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.scenario, b.scenario) })
	return results, nil
}
