// Package rig is what the programs that measure have in common: a nats-server in
// this process, both ends of the bus on connections to it, and the processor time
// that a process has used.
package rig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Address is the pool of all that a rig starts.
var Address = bus.Address{Realm: "load", Pool: "default"}

// A Rig is a server and what has been started on it.
type Rig struct {
	Log    *slog.Logger
	URL    string               // of the server, for other processes too
	drain  []context.CancelFunc // of workers
	work   sync.WaitGroup       // workers
	failed chan error
	close  []func() error
}

// Start starts a server. Close ends it.
func Start() (*Rig, error) {
	dir, err := os.MkdirTemp("", "mcpyard-load-")
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	server, err := embedded.Start(embedded.Config{StoreDir: dir, Listen: "127.0.0.1:0"}, log)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r := &Rig{Log: log, URL: server.ClientURL(), failed: make(chan error, 1)}
	r.onClose(func() error { return os.RemoveAll(dir) })
	r.onClose(func() error { server.Close(); return nil })
	return r, nil
}

func (r *Rig) onClose(f func() error) { r.close = append(r.close, f) }

// Close drains the workers, and closes everything, last things first.
func (r *Rig) Close() error {
	for _, drain := range r.drain {
		drain()
	}
	r.work.Wait()
	var errs []error
	select {
	case err := <-r.failed:
		errs = append(errs, err)
	default:
	}
	for _, f := range slices.Backward(r.close) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Connect returns a connection that ends with the rig.
func (r *Rig) Connect(ctx context.Context) (*bus.Conn, error) {
	conn, err := bus.Connect(ctx, bus.ConnConfig{URL: r.URL, Name: "load", Wait: 30 * time.Second}, r.Log)
	if err == nil {
		r.onClose(func() error { conn.Close(); return nil })
	}
	return conn, err
}

// Work starts a worker, which drains when the rig is closed, and waits until it is
// ready.
func (r *Rig) Work(ctx context.Context, conn *bus.Conn, slots int, h mcp.HandlerFunc) error {
	w, err := bus.NewConsumer(conn, h, bus.ConsumerConfig{Address: Address, Slots: slots, Version: "0.0.0"}, r.Log)
	if err != nil {
		return err
	}
	ctx, drain := context.WithCancel(ctx)
	r.drain = append(r.drain, drain)
	ended := make(chan error, 1)
	r.work.Go(func() {
		err := w.Run(ctx)
		ended <- err
		r.note(err)
	})
	for !w.Ready() {
		select {
		case err := <-ended:
			return fmt.Errorf("a worker did not start: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// note keeps the first error of a worker, for Close.
func (r *Rig) note(err error) {
	if err != nil {
		select {
		case r.failed <- err:
		default:
		}
	}
}

// Open opens an ingress's end of the bus on a connection of its own.
func (r *Rig) Open(ctx context.Context) (*bus.Client, error) {
	conn, err := r.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c, err := bus.OpenClient(conn, bus.ClientConfig{Realm: Address.Realm}, r.Log)
	if err == nil {
		r.onClose(c.Close)
	}
	return c, err
}

// Knows waits until c has heard of that many workers.
func (r *Rig) Knows(c *bus.Client, workers int) error {
	for deadline := time.Now().Add(time.Minute); c.Workers(Address.Pool) != workers; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("an ingress knows %d workers of %d", c.Workers(Address.Pool), workers)
		}
	}
	return nil
}

// Call is a tools/call of the tool name, as an ingress hands it to the bus.
func Call(name string) *mcp.Request {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"text":"hello"}}}`, name)
	req, err := mcp.ParseRequest(raw)
	if err != nil {
		panic(err)
	}
	req.Pool, req.Profile = Address.Pool, mcp.Contract
	return req
}

// CPU is the processor time that this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
