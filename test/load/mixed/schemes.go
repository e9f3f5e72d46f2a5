package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

var address = bus.Address{Realm: "load", Pool: "default"}

// A busScheme is clients and consumers of the bus.
type busScheme struct {
	clients []*bus.Client
	next    atomic.Uint64
	stop    func() error
}

// openBus starts workers whose only tool sleeps for the milliseconds that its
// name says, and waits until every ingress knows them.
func openBus(ctx context.Context, s settings, url string, log *slog.Logger) (scheme, error) {
	b := &busScheme{}
	var workers []func(context.Context) error
	for range s.workers {
		conn, err := connect(ctx, url, log)
		if err != nil {
			return nil, err
		}
		w, err := bus.NewConsumer(conn, mcp.HandlerFunc(sleep), bus.ConsumerConfig{Address: address, Slots: s.slots, Version: "0.0.0"}, log)
		if err != nil {
			return nil, err
		}
		workers = append(workers, w.Run)
	}
	for range s.ingresses {
		conn, err := connect(ctx, url, log)
		if err != nil {
			return nil, err
		}
		c, err := bus.OpenClient(conn, bus.ClientConfig{Realm: address.Realm}, log)
		if err != nil {
			return nil, err
		}
		b.clients = append(b.clients, c)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- actor.All(workers...)(ctx) }()
	b.stop = func() error {
		cancel()
		return <-done
	}
	for _, c := range b.clients {
		for c.Workers(address.Pool) < s.workers {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return b, nil
}

func connect(ctx context.Context, url string, log *slog.Logger) (*bus.Conn, error) {
	return bus.Connect(ctx, bus.ConnConfig{URL: url, Name: "mixed", Wait: 5 * time.Second}, log)
}

func sleep(ctx context.Context, req *mcp.Request, _ mcp.NotifyFunc) *mcp.Response {
	name, _ := req.Target()
	milliseconds, err := strconv.Atoi(name)
	if err != nil {
		return mcp.ErrorResponse(req.ID, mcp.InvalidParams("the tool's name is a number of milliseconds"))
	}
	select {
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
	case <-ctx.Done():
	}
	return mcp.ResultResponse(req.ID, []byte(`{}`))
}

func (b *busScheme) call(ctx context.Context, work time.Duration) error {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%d"}}`, work.Milliseconds())
	req, fault := mcp.ParseRequest(raw)
	if fault != nil {
		return fault
	}
	req.Pool, req.Profile = address.Pool, mcp.Contract
	client := b.clients[b.next.Add(1)%uint64(len(b.clients))]
	if res := client.Handle(ctx, req, func([]byte) {}); res.Code != 0 {
		return fmt.Errorf("error %d", res.Code)
	}
	return nil
}

func (b *busScheme) close() error {
	errs := []error{b.stop()}
	for _, c := range b.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// A queueGroup is plain NATS: requests to a subject, workers in a queue group. A
// worker takes messages only while it has a free slot; NATS does not know.
type queueGroup struct {
	conn *nats.Conn
	subs []*nats.Subscription
}

const groupSubject = "mixed.calls"

func openQueueGroup(ctx context.Context, s settings, url string, log *slog.Logger) (scheme, error) {
	g := &queueGroup{}
	for range s.workers {
		conn, err := connect(ctx, url, log)
		if err != nil {
			return nil, err
		}
		slots := make(chan struct{}, s.slots)
		sub, err := conn.QueueSubscribe(groupSubject, "workers", func(m *nats.Msg) {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				work, _ := strconv.Atoi(string(m.Data))
				time.Sleep(time.Duration(work) * time.Millisecond)
				if err := m.Respond(nil); err != nil {
					log.Error("no reply", slog.Any("error", err))
				}
			}()
		})
		if err != nil {
			return nil, err
		}
		if err := conn.Flush(); err != nil {
			return nil, err
		}
		g.subs = append(g.subs, sub)
	}
	conn, err := connect(ctx, url, log)
	if err != nil {
		return nil, err
	}
	g.conn = conn.Conn
	return g, nil
}

func (g *queueGroup) call(ctx context.Context, work time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := g.conn.RequestWithContext(ctx, groupSubject, strconv.AppendInt(nil, work.Milliseconds(), 10))
	return err
}

func (g *queueGroup) close() error {
	var errs []error
	for _, sub := range g.subs {
		errs = append(errs, sub.Unsubscribe())
	}
	return errors.Join(errs...)
}
