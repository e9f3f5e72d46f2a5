package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpyard/mcpyard/test/chaos/proxy"
	"github.com/mcpyard/mcpyard/test/process"
)

// patience is how long a process may take to start, or to stop.
const patience = 30 * time.Second

// A node is a process of the fleet, and those that have been it before.
type node struct {
	name  string
	path  string // of the command
	args  []string
	ready func(context.Context, *node) error // waits until it serves
	proxy *proxy.Proxy                       // between it and NATS; nil if there is none

	running *process.Program
	earlier []*process.Program
}

// start starts the process and waits until it serves.
func (n *node) start(ctx context.Context) error {
	if n.running != nil {
		n.earlier = append(n.earlier, n.running)
	}
	p, err := process.Start(exec.Command(n.path, n.args...))
	if err != nil {
		return err
	}
	n.running = p
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	go func() {
		select {
		case <-p.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := n.ready(ctx, n); err != nil {
		return fmt.Errorf("start %s: %w\n%s", n.name, err, p.Stderr.String())
	}
	return nil
}

// stop asks the process to end and waits until it has.
func (n *node) stop(ctx context.Context) error {
	n.running.Terminate()
	return n.ended(ctx)
}

// end ends the process, whatever was done to it, and its proxy.
func (n *node) end(ctx context.Context) error {
	if n.proxy != nil {
		defer n.proxy.Close()
		n.proxy.Resume()
	}
	if n.running == nil {
		return nil
	}
	err := n.thaw()
	if stuck := n.stop(ctx); stuck != nil {
		return errors.Join(err, stuck, n.kill(ctx))
	}
	return err
}

// restart stops the process and starts it again.
func (n *node) restart(ctx context.Context) error {
	if err := n.stop(ctx); err != nil {
		return err
	}
	return n.start(ctx)
}

// kill ends the process as a crash does, and waits until it has ended.
func (n *node) kill(ctx context.Context) error {
	if err := n.running.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	return n.ended(ctx)
}

// freeze stops the process from running; thaw lets it go on.
func (n *node) freeze() error { return n.running.Signal(syscall.SIGSTOP) }
func (n *node) thaw() error   { return n.running.Signal(syscall.SIGCONT) }

// ended waits for the end of the process. How it ended is in its log.
func (n *node) ended(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = n.running.Wait(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("%s does not end", n.name)
	}
	return nil
}

// log is what the process has said, and those before it.
func (n *node) log() string {
	var text strings.Builder
	for _, p := range append(n.earlier, n.running) {
		if p != nil {
			text.WriteString(p.Stdout.String() + p.Stderr.String())
		}
	}
	return text.String()
}

// A readiness is what a process tells its operators.
type readiness struct {
	Ready    bool           `json:"ready"`
	Counters map[string]int `json:"counters"`
	Usage    struct {
		Goroutines    float64 `json:"goroutines"`
		LiveHeapBytes float64 `json:"liveHeapBytes"`
		MemoryBytes   float64 `json:"memoryBytes"`
	} `json:"usage"`
}

// readiness asks an ingress or a worker how it is.
func (n *node) readiness(ctx context.Context) (r readiness, err error) {
	url, err := n.running.Says(ctx, process.SaysOperators)
	if err != nil {
		return r, err
	}
	return r, getJSON(ctx, url+"/readyz", &r)
}

// isReady waits until an ingress or a worker is ready.
func isReady(ctx context.Context, n *node) error {
	return eventually(ctx, func() (bool, error) {
		r, err := n.readiness(ctx)
		return r.Ready, err
	})
}

// getJSON reads what is at url, whatever its status, into v.
func getJSON(ctx context.Context, url string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(v)
}

// eventually waits until condition holds, which nothing announces. Its errors are
// of no interest before the last one.
func eventually(ctx context.Context, condition func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		holds, err := condition()
		if holds && err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// freeAddress is a loopback address that nobody uses at the moment: a process that
// comes back has to find its address again. Its port is below those that the system
// gives to connections, of which one could take it meanwhile.
func freeAddress(ctx context.Context) (string, error) {
	const lowest, highest, tries = 20_000, 32_000, 100
	var config net.ListenConfig
	var err error
	for range tries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.N(highest-lowest)))
		var ln net.Listener
		if ln, err = config.Listen(ctx, "tcp", address); err == nil {
			return address, ln.Close()
		}
	}
	return "", err
}
