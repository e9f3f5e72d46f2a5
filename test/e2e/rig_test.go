package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/ingress"
	"github.com/mcpyard/mcpyard/internal/worker"
	"github.com/mcpyard/mcpyard/test/process"
)

// patience is how long tests wait for what has to happen.
const patience = 20 * time.Second

// A program is an ingress, a worker or a nats-server that runs: in this process
// or in one of its own. It ends with the test at the latest.
type program struct{ *process.Program }

// A launcher starts a command with arguments.
type launcher func(t testing.TB, command string, args ...string) *program

// inProcess runs a command in this process, where the race detector and goleak
// see it.
func inProcess(t testing.TB, command string, args ...string) *program {
	t.Helper()
	p := &program{process.Go(context.WithoutCancel(t.Context()), func(ctx context.Context, stdout, stderr io.Writer) error {
		switch command {
		case "ingress":
			return ingress.Run(ctx, args, strings.NewReader(""), stdout, stderr)
		case "worker":
			return worker.Run(ctx, args, stdout, stderr)
		}
		return fmt.Errorf("no command %q", command)
	})}
	t.Cleanup(func() {
		p.Terminate()
		p.cleanUp(t, command)
	})
	return p
}

// asProcess runs a command as a process.
func asProcess(t testing.TB, command string, args ...string) *program {
	t.Helper()
	return launch(t, binary(t, command, args...))
}

// binary returns a built command that has not been started. It leaves no files
// behind, even if it is killed.
func binary(t testing.TB, command string, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := built()
	require.NoError(t, err)
	cmd := exec.Command(filepath.Join(dir, command), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	return cmd
}

// launch starts cmd.
func launch(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	started, err := process.Start(cmd)
	require.NoError(t, err)
	p := &program{started}
	t.Cleanup(func() {
		_ = p.Signal(syscall.SIGKILL)
		p.cleanUp(t, filepath.Base(cmd.Path))
	})
	return p
}

// cleanUp waits for the program's end, and shows what it said if the test has
// failed.
func (p *program) cleanUp(t testing.TB, command string) {
	err := p.Wait(context.WithoutCancel(t.Context()))
	if t.Failed() {
		t.Logf("%s ended with %v\n%s%s", command, err, p.Stdout.String(), p.Stderr.String())
	}
}

// wait waits for the program's end and returns how it ended.
func (p *program) wait(t testing.TB) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return p.Wait(ctx)
}

// exitCode waits for the end of a process; -1 stands for a signal.
func (p *program) exitCode(t testing.TB) int {
	t.Helper()
	err := p.wait(t)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

// What only these tests wait for.
var (
	saysLocalNATS = regexp.MustCompile(`NATS at (nats://\S+)`)
	saysStore     = regexp.MustCompile(`kept in (\S+) until`)
	saysSlowEnded = regexp.MustCompile(`msg=request .*(tool=slow)`)
	saysDraining  = regexp.MustCompile(`msg=(draining)`)
)

// says waits until the program has written what matches pattern, to either
// stream, and returns the first group of it.
func (p *program) says(t testing.TB, pattern *regexp.Regexp) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	said, err := p.Says(ctx, pattern)
	require.NoError(t, err)
	return said
}

// A fleet is an ingress and its workers.
type fleet struct {
	*caller // talks to the ingress
	ingress *program
	workers []*program
}

// startFleet starts an ingress and n workers on the NATS server at url, and
// waits until they know each other. flags are for all of them.
func startFleet(t testing.TB, start launcher, url string, n int, flags ...string) *fleet {
	t.Helper()
	flags = append([]string{"-nats", url, "-log-level", "DEBUG", "-ops", "127.0.0.1:0"}, flags...)
	f := &fleet{}
	for range n {
		f.workers = append(f.workers, start(t, "worker", flags...))
	}
	f.ingress = start(t, "ingress", append(flags, "-http", "127.0.0.1:0")...)
	f.caller = newCaller(t, f.ingress.says(t, process.SaysClients))
	f.awaitWorkers(t, n)
	return f
}

// awaitWorkers waits until the ingress knows n workers.
func (f *fleet) awaitWorkers(t testing.TB, n int) {
	t.Helper()
	eventually(t, func() bool {
		_, s := f.readiness(t, f.ingress)
		return s.Counters["workers"] == n
	})
}

// A readiness is what /readyz says.
type readiness struct {
	Ready    bool           `json:"ready"`
	Reason   string         `json:"reason"`
	Counters map[string]int `json:"counters"`
}

// readiness asks a program of the fleet how it is.
func (f *fleet) readiness(t testing.TB, p *program) (status int, s readiness) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.says(t, process.SaysOperators)+"/readyz", nil)
	require.NoError(t, err)
	res, err := f.http.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, json.NewDecoder(res.Body).Decode(&s))
	return res.StatusCode, s
}

// eventually waits until condition holds, which nothing announces.
func eventually(t testing.TB, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-timeout:
			require.FailNow(t, "it does not happen")
		}
	}
}
