package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/seal"
	"github.com/mcpyard/mcpyard/test/chaos/proxy"
)

const (
	ingresses = 2
	workers   = 4
)

// A layout says which processes a scenario needs.
type layout struct {
	servers     int      // nats-servers, in a cluster if there are several; 0 means 1
	proxied     bool     // there is a proxy between each other process and NATS
	maxPayload  int      // of the nats-servers; 0 means theirs
	slots       int      // of each worker; 0 means 64
	workerFlags []string // further ones
	principals  []string // that the ingresses serve; none: they are what ingresses are
	// deadline is that of the ingresses, which ends a call that nothing else does; 0
	// means 10 s.
	deadline time.Duration
}

// A fleet is real processes on this machine.
type fleet struct {
	bin, dir  string // of the commands, and of what the processes need and leave behind
	servers   []*server
	ingresses []*node
	workers   []*node
	urls      []string // of the ingresses, for clients
}

// startFleet starts a fleet. stop must be called, also after an error.
func startFleet(ctx context.Context, bin, dir string, l layout) (*fleet, error) {
	f := &fleet{bin: bin, dir: dir}
	if err := errors.Join(f.addServers(ctx, l), f.addWorkers(ctx, l), f.addIngresses(ctx, l)); err != nil {
		return f, err
	}
	for _, nodes := range [][]*node{f.serverNodes(), f.workers, f.ingresses} {
		if err := each(nodes, func(n *node) error { return n.start(ctx) }); err != nil {
			return f, err
		}
	}
	return f, f.acquainted(ctx)
}

// each does something with several nodes at once: the servers of a cluster need
// each other, and others have no reason to wait.
func each(nodes []*node, do func(*node) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// acquainted waits until each ingress knows all workers.
func (f *fleet) acquainted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, n := range f.ingresses {
		if err := eventually(ctx, func() (bool, error) {
			r, err := n.readiness(ctx)
			return r.Counters["workers"] == len(f.workers), err
		}); err != nil {
			return fmt.Errorf("%s does not know all workers: %w", n.name, err)
		}
	}
	return nil
}

func (f *fleet) addWorkers(ctx context.Context, l layout) error {
	keys := filepath.Join(f.dir, "keys")
	if err := os.WriteFile(keys, []byte(seal.NewKey()), 0o600); err != nil {
		return err
	}
	for i := range workers {
		n := &node{name: fmt.Sprintf("worker-%d", i+1), path: filepath.Join(f.bin, "worker"), ready: isReady}
		url, err := f.connect(ctx, n, i+1, l)
		if err != nil {
			return err
		}
		n.args = append([]string{f.journal(n), "-nats", url, "-ops", "127.0.0.1:0", "-state-keys", keys,
			"-toolsets", "basics", "-slots", strconv.Itoa(cmp.Or(l.slots, 64))}, l.workerFlags...)
		f.workers = append(f.workers, n)
	}
	return nil
}

func (f *fleet) addIngresses(ctx context.Context, l layout) error {
	for i := range ingresses {
		n := &node{name: fmt.Sprintf("ingress-%d", i+1), path: filepath.Join(f.bin, "ingress"), ready: isReady}
		url, err := f.connect(ctx, n, i, l)
		if err != nil {
			return err
		}
		address, err := freeAddress(ctx)
		if err != nil {
			return err
		}
		n.args = []string{"-nats", url, "-http", address, "-deadline", cmp.Or(l.deadline, 10*time.Second).String()}
		if l.principals == nil {
			n.args = append(n.args, "-ops", "127.0.0.1:0", "-max-body", "16MiB")
		} else {
			n.path = filepath.Join(f.bin, "trusting")
			n.args = append(n.args, l.principals...)
		}
		f.ingresses = append(f.ingresses, n)
		f.urls = append(f.urls, "http://"+address)
	}
	return nil
}

// connect returns where the i-th of several processes finds NATS: they are spread
// over the servers.
func (f *fleet) connect(ctx context.Context, n *node, i int, l layout) (url string, err error) {
	s := f.servers[i%len(f.servers)]
	if !l.proxied {
		return s.url(), nil
	}
	n.proxy, err = proxy.Listen(ctx, s.address)
	if err != nil {
		return "", err
	}
	return "nats://" + n.proxy.Addr(), nil
}

// journal is the file in which a worker writes down its calls.
func (f *fleet) journal(worker *node) string { return filepath.Join(f.dir, worker.name+".journal") }

func (f *fleet) serverNodes() (nodes []*node) {
	for _, s := range f.servers {
		nodes = append(nodes, &s.node)
	}
	return nodes
}

// stop ends all processes, those in front first, and says which had to be killed.
// It leaves their logs in the fleet's folder.
func (f *fleet) stop(ctx context.Context) error {
	var errs []error
	for _, nodes := range [][]*node{f.ingresses, f.workers, f.serverNodes()} {
		errs = append(errs, each(nodes, func(n *node) error { return n.end(ctx) }))
	}
	return errors.Join(append(errs, f.writeLogs())...)
}

// writeLogs leaves the logs of all processes in the fleet's folder.
func (f *fleet) writeLogs() error {
	var errs []error
	for _, n := range slices.Concat(f.ingresses, f.workers, f.serverNodes()) {
		errs = append(errs, os.WriteFile(filepath.Join(f.dir, n.name+".log"), []byte(n.log()), 0o600))
	}
	return errors.Join(errs...)
}

// complaints are the last lines of each log that say that something went wrong.
func (f *fleet) complaints() string {
	const most = 2 // of each
	var text strings.Builder
	for _, n := range slices.Concat(f.ingresses, f.workers, f.serverNodes()) {
		var bad []string
		for line := range strings.Lines(n.log()) {
			if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") || strings.Contains(line, "panic:") {
				bad = append(bad, "  "+n.name+": "+line)
			}
		}
		text.WriteString(strings.Join(bad[max(0, len(bad)-most):], ""))
	}
	return text.String()
}
