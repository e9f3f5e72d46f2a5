// Command clients drives MCPYard with a client that is not ours: the official
// TypeScript one, in client.mjs, against the built ingress with three workers in
// it. It needs Node.js 20 or later and npm, which fetches the client that
// package.json pins.
//
//	go run ./test/clients
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// here is this program's folder, from the module's root.
var here = filepath.Join("test", "clients")

// The ingress runs workers with one slot each, for which some more requests may
// wait.
const (
	workers = 3
	queue   = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "mcpyard-clients-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := do(ctx, out, here, "npm", "ci", "--loglevel=error", "--no-progress"); err != nil {
		return fmt.Errorf("the client comes from npm, of Node.js: %w", err)
	}
	if err := do(ctx, out, ".", "go", "build", "-o", dir, "./cmd/ingress"); err != nil {
		return err
	}
	s, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return do(ctx, out, here, "node", "client.mjs", s.url, strconv.Itoa(workers), strconv.Itoa(queue))
}

// do runs a command in a folder to its end.
func do(ctx context.Context, out io.Writer, folder, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Stdout, command.Stderr = folder, out, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return nil
}

// A server is a running ingress.
type server struct {
	process *exec.Cmd
	url     string        // where clients talk to it
	log     chan []string // what it has said, once it has ended
}

// start starts the ingress in dir and waits until it serves clients.
func start(ctx context.Context, dir string) (*server, error) {
	s := &server{log: make(chan []string, 1)}
	s.process = exec.CommandContext(ctx, filepath.Join(dir, "ingress"), "-local", "-workers", strconv.Itoa(workers), "-slots", "1", "-queue", strconv.Itoa(queue),
		"-toolsets", "everything,notes,basics", "-store-dir", filepath.Join(dir, "store"), "-http", "127.0.0.1:0")
	output, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.process.Stderr = s.process.Stdout // one pipe, as nobody reads them apart
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	url := make(chan string, 1)
	go func() { s.log <- listen(output, url) }()
	select {
	case s.url = <-url:
		return s, nil
	case <-time.After(30 * time.Second):
		return nil, errors.Join(errors.New("the ingress does not start"), s.stop())
	case said := <-s.log:
		return nil, fmt.Errorf("the ingress has ended: %w\n%s", s.process.Wait(), strings.Join(said, "\n"))
	}
}

// listen reads what an ingress says until it ends, and passes its URL on.
func listen(output io.Reader, url chan<- string) (said []string) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		said = append(said, lines.Text())
		if rest, ok := strings.CutPrefix(lines.Text(), "MCP at "); ok {
			where, _, _ := strings.Cut(rest, ",")
			url <- where
		}
	}
	return said
}

// stop tells the ingress to stop, and fails if it does not do so well.
func (s *server) stop() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	said := <-s.log
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("ingress: %w\n%s", err, strings.Join(said, "\n"))
	}
	return nil
}
