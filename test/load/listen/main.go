// Command listen measures many open subscriptions/listen streams on one ingress:
// the memory that each of them takes, and the time until an event has reached all.
//
//	go run ./test/load/listen
//
// The ingress is the command as it is, with -local, in a process of its own. Memory
// is the growth of that process's resident set, whatever it is made of: buffers,
// stacks, and garbage that waits for its collection.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/ingress"
)

func main() {
	streams := flag.Int("streams", 10_000, "`number` of streams")
	serve := flag.Bool("serve", false, "be the ingress of another listen")
	flag.Parse()
	if *serve {
		cli.Main("ingress", func() error {
			return ingress.Run(context.Background(), flag.Args(), os.Stdin, os.Stdout, os.Stderr)
		})
		return
	}
	if err := run(context.Background(), *streams, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "listen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, streams int, out io.Writer) (err error) {
	if err := allowFiles(streams + 100); err != nil {
		return err
	}
	server, err := startIngress(ctx, streams)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	const warmUp = 100 // what the first streams take, later ones share
	c := &crowd{addr: server.addr}
	if err := c.open(warmUp); err != nil {
		return err
	}
	before, err := server.resident()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := c.open(streams); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d streams opened in %s\n", streams, time.Since(start).Round(time.Millisecond))
	for range 3 {
		took, err := c.event()
		if err != nil {
			return err
		}
		now, err := server.resident()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "an event reaches all of them within %s; %.1f KiB resident each\n",
			took.Round(time.Millisecond), float64(now-before)/float64(streams-warmUp)/1024)
	}
	return nil
}

// allowFiles raises the limit on open files, which the child takes over.
func allowFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = max(limit.Cur, uint64(n))
	limit.Max = max(limit.Max, limit.Cur)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("allow %d open files: %w", n, err)
	}
	return nil
}

// An ingressProcess is the server.
type ingressProcess struct {
	cmd  *exec.Cmd
	addr string
}

func startIngress(ctx context.Context, streams int) (*ingressProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", "--", "-local", "-http", "127.0.0.1:0", "-max-subscriptions", fmt.Sprint(streams), "-grace", "5s")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &ingressProcess{cmd: cmd}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "MCP at http://"); ok {
			p.addr, _, _ = strings.Cut(url, "/")
			go io.Copy(io.Discard, stdout) // ends with the process
			return p, nil
		}
	}
	return nil, errors.Join(errors.New("the ingress did not start"), p.stop())
}

func (p *ingressProcess) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.cmd.Wait()
}

// resident is the size of the process in memory, in bytes.
func (p *ingressProcess) resident() (int64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}

// each runs f that many times, some at once, and returns all errors.
func each(n int, f func() error) error {
	var (
		work   sync.WaitGroup
		mu     sync.Mutex
		errs   []error
		tokens = make(chan struct{}, 32)
	)
	for range n {
		tokens <- struct{}{}
		work.Go(func() {
			defer func() { <-tokens }()
			if err := f(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}
