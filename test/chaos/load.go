package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A load is calls at a constant rate, whether earlier ones are answered or not.
type load struct {
	client *client
	name   string // of the calls, with a number behind it
	mix    mix
	stop   context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex // guards what follows
	calls []*call    // those that have ended
	grown chan struct{}
}

// begin starts a load of so many calls a second; end must be called.
func (c *client) begin(ctx context.Context, name string, rate int, m mix) *load {
	l := &load{client: c, name: name, mix: m, done: make(chan struct{}), grown: make(chan struct{})}
	sending, stop := context.WithCancel(ctx)
	l.stop = stop
	go func() {
		defer close(l.done)
		l.run(ctx, sending, rate)
	}()
	return l
}

// end sends no more calls and waits until all have ended.
func (l *load) end() {
	l.stop()
	<-l.done
}

// run sends calls until sending ends. Their own context is ctx.
func (l *load) run(ctx, sending context.Context, rate int) {
	random := rand.New(rand.NewPCG(1, uint64(rate)))
	var calls sync.WaitGroup
	defer calls.Wait()
	for n, due := 0, time.Now(); ; n, due = n+1, due.Add(time.Second/time.Duration(rate)) {
		select {
		case <-sending.Done():
			return
		case <-time.After(time.Until(due)):
		}
		call := l.mix(random)
		call.id, call.due, call.sent = fmt.Sprintf("%s-%d", l.name, n), due, time.Now()
		calls.Go(func() {
			l.client.do(ctx, &call)
			l.add(&call)
		})
	}
}

func (l *load) add(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
	close(l.grown)
	l.grown = make(chan struct{})
}

// more waits until n more calls have ended.
func (l *load) more(ctx context.Context, n int) error {
	ended, _ := l.ended()
	for want := ended + n; ; {
		ended, grown := l.ended()
		if ended >= want {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// soFar returns the calls that have ended.
func (l *load) soFar() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// ended is how many calls have ended, and a channel that is closed at the next.
func (l *load) ended() (n int, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls), l.grown
}
