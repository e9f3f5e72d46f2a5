package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/worker"
)

var address = bus.Address{Realm: "load", Pool: "default"}

// A fleet is a server, workers, and an ingress's end of the bus.
type fleet struct {
	client  *bus.Client
	closers []func()

	mu      sync.Mutex // guards what follows
	waiting map[string]chan struct{}
	early   map[string]struct{} // changes that nobody has waited for yet
}

func startFleet(ctx context.Context, s settings, log *slog.Logger) (f *fleet, err error) {
	f = &fleet{waiting: map[string]chan struct{}{}, early: map[string]struct{}{}}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	dir, err := os.MkdirTemp("", "mcpyard-load-")
	if err != nil {
		return f, err
	}
	f.closers = append(f.closers, func() { os.RemoveAll(dir) })
	server, err := embedded.Start(embedded.Config{StoreDir: dir, Listen: "127.0.0.1:0"}, log)
	if err != nil {
		return f, err
	}
	f.closers = append(f.closers, server.Close)
	if err := f.startWorkers(ctx, s, server.ClientURL(), log); err != nil {
		return f, err
	}
	conn, err := f.connect(ctx, server.ClientURL(), 0, log)
	if err != nil {
		return f, err
	}
	f.client, err = bus.OpenClient(conn, bus.ClientConfig{Realm: address.Realm, OnEvent: f.onEvent}, log)
	if err != nil {
		return f, err
	}
	f.closers = append(f.closers, func() { _ = f.client.Close() })
	for f.client.Workers(address.Pool) < s.workers {
		time.Sleep(time.Millisecond)
	}
	return f, nil
}

func (f *fleet) connect(ctx context.Context, url string, buffer int, log *slog.Logger) (*bus.Conn, error) {
	conn, err := bus.Connect(ctx, bus.ConnConfig{URL: url, Name: "load", Wait: 5 * time.Second, Buffer: buffer}, log)
	if err == nil {
		f.closers = append(f.closers, conn.Close)
	}
	return conn, err
}

func (f *fleet) startWorkers(ctx context.Context, s settings, url string, log *slog.Logger) error {
	var runs []func(context.Context) error
	for range s.workers {
		conn, err := f.connect(ctx, url, 32<<20, log)
		if err != nil {
			return err
		}
		w, err := worker.New(ctx, conn, worker.Config{
			ConsumerConfig: bus.ConsumerConfig{Address: address, Slots: s.slots, Version: "1.0.0"},
			Toolsets:       []string{"everything"},
		}, log)
		if err != nil {
			return err
		}
		runs = append(runs, w.Run)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- actor.All(runs...)(ctx) }()
	f.closers = append(f.closers, func() {
		cancel()
		if err := <-done; err != nil {
			log.Error("workers ended badly", slog.Any("error", err))
		}
	})
	return nil
}

func (f *fleet) close() {
	for _, closer := range slices.Backward(f.closers) {
		closer()
	}
}

// onEvent wakes who waits for a task.
func (f *fleet) onEvent(_ string, e mcp.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if changed := f.waiting[e.TaskID]; changed != nil {
		delete(f.waiting, e.TaskID)
		close(changed)
	} else if e.TaskID != "" {
		f.early[e.TaskID] = struct{}{}
	}
}

// changed returns a channel that is closed when a task has changed since it was
// created, or since the last call for it.
func (f *fleet) changed(id string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan struct{})
	if _, already := f.early[id]; already {
		delete(f.early, id)
		close(c)
	} else {
		f.waiting[id] = c
	}
	return c
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// ask has a request answered.
func (f *fleet) ask(ctx context.Context, method, params string) (mcp.Task, error) {
	req, refusal := mcp.ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,` + meta + `}}`))
	if refusal != nil {
		return mcp.Task{}, refusal
	}
	req.Pool = address.Pool
	res := f.client.Handle(ctx, req, func([]byte) {})
	if res.Code != 0 {
		return mcp.Task{}, fmt.Errorf("%s: %s", method, res.Body)
	}
	var r struct{ Result mcp.Task }
	return r.Result, json.Unmarshal(res.Body, &r)
}

func (f *fleet) compute(ctx context.Context, seconds int) (mcp.Task, error) {
	return f.ask(ctx, "tools/call", fmt.Sprintf(`"name":"slow_compute","arguments":{"seconds":%d}`, seconds))
}

// emptyTask takes from the request until the client has heard that the task is
// complete, and then checks that.
func (f *fleet) emptyTask(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	task, err := f.compute(ctx, 0)
	if err != nil {
		return 0, err
	}
	select {
	case <-f.changed(task.ID):
	case <-time.After(30 * time.Second):
		return 0, errors.New("a task does not end within 30 s")
	}
	took := time.Since(start)
	task, err = f.ask(ctx, "tasks/get", `"taskId":"`+task.ID+`"`)
	if err == nil && task.Status != mcp.TaskCompleted {
		err = fmt.Errorf("a task is %s", task.Status)
	}
	return took, err
}

func (f *fleet) shortCall(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	_, err := f.ask(ctx, "tools/call", `"name":"greet","arguments":{"name":"Ada"}`)
	return time.Since(start), err
}

// longTasks starts tasks that run until they are cancelled, and returns when all
// do.
func (f *fleet) longTasks(ctx context.Context, n int) (cancelAll func() error, err error) {
	ids := make([]string, n)
	for i := range ids {
		task, err := f.compute(ctx, 3600)
		if err != nil {
			return nil, err
		}
		ids[i] = task.ID
		<-f.changed(task.ID) // its first status message
	}
	return func() error {
		var errs []error
		for _, id := range ids {
			_, err := f.ask(ctx, "tasks/cancel", `"taskId":"`+id+`"`)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}, nil
}
