// Package process runs the commands of this module, as processes of their own or
// in this process, for tests and for programs that test. Start at Program.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// What the commands say when they are up, with the part that others need to reach
// them.
var (
	SaysClients   = regexp.MustCompile(`MCP at (http://\S+)/mcp,`)
	SaysOperators = regexp.MustCompile(`Health and readiness at (http://\S+)/healthz`)
	SaysWorker    = regexp.MustCompile(`Starting worker (\S+): `)
	SaysServer    = regexp.MustCompile(`Listening for client connections on (\S+)`)
)

// NATSServer is the package of the nats-server that go.mod names.
const NATSServer = "github.com/nats-io/nats-server/v2"

// Build builds the commands of packages into dir.
func Build(ctx context.Context, dir string, packages ...string) error {
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, packages...)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return nil
}

// ClearFlags takes the flags of the commands out of this process's environment,
// where those that it starts would find them.
func ClearFlags() {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "MCPYARD_") {
			os.Unsetenv(name)
		}
	}
}

// A Program is a program that runs. Its methods may be called concurrently.
type Program struct {
	Stdout, Stderr Output

	signal func(os.Signal) error
	done   chan struct{} // closed when it has ended
	err    error         // how it ended; read it after done
}

// Go runs a program in this process. SIGTERM ends its context, and it takes no
// other signal.
func Go(ctx context.Context, run func(ctx context.Context, stdout, stderr io.Writer) error) *Program {
	ctx, cancel := context.WithCancel(ctx)
	p := &Program{done: make(chan struct{})}
	p.signal = func(s os.Signal) error {
		if s != syscall.SIGTERM {
			return fmt.Errorf("a program in this process takes no %s", s)
		}
		cancel()
		return nil
	}
	go func() {
		defer close(p.done)
		defer cancel()
		p.err = run(ctx, &p.Stdout, &p.Stderr)
	}()
	return p
}

// Start starts cmd as a process, whose output the Program takes.
func Start(cmd *exec.Cmd) (*Program, error) {
	p := &Program{done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.Stdout, &p.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.signal = cmd.Process.Signal
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// Signal sends a signal, unless the program has ended.
func (p *Program) Signal(s os.Signal) error {
	if err := p.signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Terminate asks the program to end, as an operator does.
func (p *Program) Terminate() { _ = p.Signal(syscall.SIGTERM) } // it takes that one

// Done returns a channel that is closed when the program has ended.
func (p *Program) Done() <-chan struct{} { return p.done }

// Wait waits for the program's end and returns how it ended. The error is that
// of ctx if that comes first.
func (p *Program) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the program's end: %w", context.Cause(ctx))
	}
}

// Says waits until the program has written what matches pattern, to either
// stream, and returns the first group of it.
func (p *Program) Says(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	for ended := false; ; {
		out, outGrown := p.Stdout.Snapshot()
		errs, errsGrown := p.Stderr.Snapshot()
		if match := pattern.FindStringSubmatch(out + errs); match != nil {
			return match[1], nil
		}
		if ended {
			return "", fmt.Errorf("the program has ended: %w\n%s", p.err, errs)
		}
		select {
		case <-outGrown:
		case <-errsGrown:
		case <-p.done:
			ended = true // it may have said it last
		case <-ctx.Done():
			return "", fmt.Errorf("the program does not say %q: %w\n%s%s", pattern, context.Cause(ctx), out, errs)
		}
	}
}
