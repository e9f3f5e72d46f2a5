package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/ingress"
	"github.com/mcpyard/mcpyard/internal/worker"
)

// patience is how long tests wait for what has to happen.
const patience = 20 * time.Second

// A program is an ingress, a worker or a nats-server that runs: in this process
// or in one of its own. It ends with the test at the latest.
type program struct {
	stdout, stderr output

	terminate func()        // asks it to end, as an operator does
	done      chan struct{} // closed when it has ended
	err       error         // how it ended; read it after done
}

// A launcher starts a command with arguments.
type launcher func(t testing.TB, command string, args ...string) *program

// inProcess runs a command in this process, where the race detector and goleak
// see it.
func inProcess(t testing.TB, command string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &program{terminate: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = p.run(ctx, command, args)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
		p.showIfFailed(t, command)
	})
	return p
}

func (p *program) run(ctx context.Context, command string, args []string) error {
	switch command {
	case "ingress":
		return ingress.Run(ctx, args, strings.NewReader(""), &p.stdout, &p.stderr)
	case "worker":
		return worker.Run(ctx, args, &p.stdout, &p.stderr)
	}
	return fmt.Errorf("no command %q", command)
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
	p := &program{done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	require.NoError(t, cmd.Start())
	p.terminate = func() { _ = cmd.Process.Signal(syscall.SIGTERM) } // it may have ended
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
		p.showIfFailed(t, filepath.Base(cmd.Path))
	})
	return p
}

func (p *program) showIfFailed(t testing.TB, command string) {
	if t.Failed() {
		t.Logf("%s ended with %v\n%s%s", command, p.err, p.stdout.String(), p.stderr.String())
	}
}

// wait waits for the program's end and returns how it ended.
func (p *program) wait(t testing.TB) error {
	t.Helper()
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		require.FailNow(t, "the program does not end")
		return nil
	}
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

// What the programs say when they are up, with the part that tests need.
var (
	saysClients   = regexp.MustCompile(`MCP at (http://\S+)/mcp,`)
	saysOperators = regexp.MustCompile(`Health and readiness at (http://\S+)/healthz`)
	saysWorker    = regexp.MustCompile(`Starting worker (\S+): `)
	saysLocalNATS = regexp.MustCompile(`NATS at (nats://\S+)`)
	saysNATS      = regexp.MustCompile(`Listening for client connections on (\S+)`)
	saysStore     = regexp.MustCompile(`kept in (\S+) until`)
	saysSlowEnded = regexp.MustCompile(`msg=request .*(tool=slow)`)
	saysDraining  = regexp.MustCompile(`msg=(draining)`)
)

// says waits until the program has written what matches pattern, to either
// stream, and returns the first group of it.
func (p *program) says(t testing.TB, pattern *regexp.Regexp) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		out, outGrown := p.stdout.snapshot()
		errs, errsGrown := p.stderr.snapshot()
		if match := pattern.FindStringSubmatch(out + errs); match != nil {
			return match[1]
		}
		select {
		case <-outGrown:
		case <-errsGrown:
		case <-p.done:
			require.FailNow(t, "the program ended early", "%v\n%s", p.err, errs)
		case <-timeout:
			require.FailNow(t, "the program does not say it", "%s\n%s%s", pattern, out, errs)
		}
	}
}

// An output keeps what a program writes.
type output struct {
	mu    sync.Mutex // guards what follows
	text  []byte
	grown chan struct{} // closed by the next Write; nil when nobody waits for it
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if o.grown != nil {
		close(o.grown)
		o.grown = nil
	}
	return len(p), nil
}

// snapshot returns the text so far and a channel that is closed when it is more.
func (o *output) snapshot() (text string, grown <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.grown == nil {
		o.grown = make(chan struct{})
	}
	return string(o.text), o.grown
}

func (o *output) String() string {
	text, _ := o.snapshot()
	return text
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
	f.caller = newCaller(t, f.ingress.says(t, saysClients))
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
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.says(t, saysOperators)+"/readyz", nil)
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
