package main

import (
	"context"
	"errors"
	"time"
)

// aLongTime is longer than workers may be without a sign of life, and aShortTime
// is not worth a word to any client.
const (
	aLongTime  = 6 * time.Second
	aShortTime = 2 * time.Second
)

// Processes that stand still for a while (SIGSTOP), and then go on as if nothing
// had happened.
func freezes() []scenario {
	return []scenario{{
		name:     "SIGSTOP of a worker",
		fault:    func(ctx context.Context, r *run) error { return freeze(ctx, r.workers[0], aLongTime) },
		promises: []promise{failsOnlyWith(outcomeUnknown), repeatablesSucceed, within(4 * time.Second)},
	}, {
		name:     "SIGSTOP of an ingress",
		fault:    func(ctx context.Context, r *run) error { return freeze(ctx, r.ingresses[0], aShortTime) },
		promises: []promise{noneFails, within(aShortTime + time.Second)},
	}, {
		name:     "SIGSTOP of the only NATS server",
		fault:    func(ctx context.Context, r *run) error { return freeze(ctx, &r.servers[0].node, aShortTime) },
		promises: []promise{noneFails, within(aShortTime + time.Second)},
	}}
}

func freeze(ctx context.Context, n *node, d time.Duration) error {
	if err := n.freeze(); err != nil {
		return err
	}
	return errors.Join(lasts(ctx, d), n.thaw())
}
