package main

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
)

// slowRate is what a slow network passes, in bytes a second in each direction: a
// few times what a worker needs.
const slowRate = 128_000

// Networks between processes and NATS that do not do what they should.
func networks() []scenario {
	proxied := layout{proxied: true}
	return []scenario{{
		name:     "slow network of the workers",
		layout:   proxied,
		fault:    slowWorkers,
		promises: []promise{noneFails, within(time.Second)},
	}, {
		name:     "a worker cut off",
		layout:   proxied,
		fault:    func(ctx context.Context, r *run) error { return cutOff(ctx, r.workers[0], aLongTime) },
		promises: []promise{failsOnlyWith(outcomeUnknown), repeatablesSucceed, within(4 * time.Second)},
	}, {
		name:     "an ingress cut off",
		layout:   proxied,
		fault:    func(ctx context.Context, r *run) error { return cutOff(ctx, r.ingresses[0], aShortTime) },
		promises: []promise{noneFails, within(aShortTime + time.Second)},
	}, {
		name:     "requests lost on their way",
		layout:   proxied,
		fault:    func(ctx context.Context, r *run) error { return loseSome(ctx, r, r.ingresses, ".call.") },
		promises: []promise{noneFails, usuallyWithin(500 * time.Millisecond)},
	}, {
		name:     "replies lost on their way",
		layout:   proxied,
		fault:    func(ctx context.Context, r *run) error { return loseSome(ctx, r, r.workers, ".r.") },
		promises: []promise{noneFails, usuallyWithin(500 * time.Millisecond)},
	}}
}

func slowWorkers(ctx context.Context, r *run) error {
	for _, w := range r.workers {
		w.proxy.Slow(slowRate)
		defer w.proxy.Slow(0)
	}
	return lasts(ctx, pick(r.size, 3*time.Second, 30*time.Second))
}

func cutOff(ctx context.Context, n *node, d time.Duration) error {
	n.proxy.Stall()
	defer n.proxy.Resume()
	return lasts(ctx, d)
}

// loseSome loses one in twenty of the messages between some nodes and NATS whose
// subjects have part in them.
func loseSome(ctx context.Context, r *run, nodes []*node, part string) error {
	var seen atomic.Int64
	for _, n := range nodes {
		n.proxy.Alter(func(subject string, message []byte) []byte {
			if strings.Contains(subject, part) && seen.Add(1)%20 == 0 {
				return nil
			}
			return message
		})
		defer n.proxy.Alter(nil)
	}
	return r.load.more(ctx, pick(r.size, 2, 20)*r.rate)
}
