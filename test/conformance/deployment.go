package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A deployment is a way to run MCPYard.
type deployment struct {
	name  string
	start func(f *fleet) error
}

const toolsets = "everything"

var deployments = []deployment{
	{"everything in one process", func(f *fleet) error {
		return f.run("ingress", "MCP at ", "-local", "-toolsets", toolsets, "-http", f.http, "-store-dir", f.dir)
	}},
	{"nats-server, three workers and an ingress", func(f *fleet) error {
		host, port, err := net.SplitHostPort(f.nats)
		if err != nil {
			return err
		}
		if err := f.run("nats-server", "Server is ready", "-a", host, "-p", port, "-js", "-sd", f.dir); err != nil {
			return err
		}
		url := "nats://" + f.nats
		for range 3 {
			if err := f.run("worker", "Starting worker", "-nats", url, "-toolsets", toolsets); err != nil {
				return err
			}
		}
		return f.run("ingress", "MCP at ", "-nats", url, "-http", f.http)
	}},
}

// build builds the commands into dir.
func build(ctx context.Context, dir string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/...", "github.com/nats-io/nats-server/v2")
	command.Stderr = os.Stderr
	return command.Run()
}

// test starts the deployment, runs the suite against it, and stops it.
func (d deployment) test(ctx context.Context, s suite, bin string, verbose bool, out io.Writer) (results []result, err error) {
	dir, err := os.MkdirTemp(bin, "run-")
	if err != nil {
		return nil, err
	}
	f := &fleet{ctx: ctx, bin: bin, dir: dir}
	defer func() { err = errors.Join(err, f.stop()) }()
	if f.http, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	if f.nats, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	if err := d.start(f); err != nil {
		return nil, err
	}
	return s.test(ctx, "http://"+f.http+"/mcp", filepath.Join(dir, "results"), verbose, out)
}

// freeAddress is a loopback address that nobody uses at the moment.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// A fleet is the processes of a deployment.
type fleet struct {
	ctx        context.Context //nolint:containedctx // of one run of this program
	bin, dir   string
	http, nats string
	processes  []*exec.Cmd
}

// run starts a process and waits until it says ready.
func (f *fleet) run(name, ready string, args ...string) error {
	command := exec.CommandContext(f.ctx, filepath.Join(f.bin, name), args...)
	output, input, err := os.Pipe()
	if err != nil {
		return err
	}
	command.Stdout, command.Stderr = input, input
	err = command.Start()
	input.Close()
	if err != nil {
		return err
	}
	f.processes = append(f.processes, command)
	said := make(chan error, 1)
	go func() {
		var log strings.Builder
		for lines := bufio.NewScanner(output); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), ready) {
				say(said, nil)
			}
		}
		say(said, fmt.Errorf("%s has ended:\n%s", name, log.String()))
	}()
	select {
	case err := <-said:
		return err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("%s does not start", name)
	}
}

// say is heard once.
func say(said chan<- error, err error) {
	select {
	case said <- err:
	default:
	}
}

// stop ends the processes, the last first.
func (f *fleet) stop() error {
	var problems []error
	for _, p := range slices.Backward(f.processes) {
		problems = append(problems, p.Process.Signal(syscall.SIGTERM))
		_ = p.Wait() // its status tells nothing of conformance
	}
	return errors.Join(problems...)
}
