package main

import (
	"context"
	"time"
)

// Processes that end without a word.
func crashes() []scenario {
	return []scenario{{
		name:     "kill -9 of a worker",
		fault:    killWorkers,
		promises: []promise{failsOnlyWith(outcomeUnknown), repeatablesSucceed, caughtWithin(500 * time.Millisecond)},
	}, {
		name:     "kill -9 of an ingress",
		fault:    killIngresses,
		promises: []promise{failsOnlyWith(cut), within(time.Second)},
	}, {
		name:     "kill -9 of a NATS server of three",
		layout:   layout{servers: 3},
		fault:    killServers,
		promises: []promise{noneFails},
	}, {
		name:     "kill -9 of the only NATS server",
		fault:    killServers,
		promises: []promise{noneFails},
	}}
}

func killWorkers(ctx context.Context, r *run) error {
	for i := range pick(r.size, 4, 20) {
		w := r.workers[i%len(r.workers)]
		r.lose(w)
		if err := w.kill(ctx); err != nil {
			return err
		}
		if err := r.load.more(ctx, r.rate/2); err != nil {
			return err
		}
		if err := w.start(ctx); err != nil {
			return err
		}
		if err := r.load.more(ctx, r.rate/2); err != nil {
			return err
		}
	}
	return nil
}

func killIngresses(ctx context.Context, r *run) error {
	for i := range pick(r.size, 2, 10) {
		n := r.ingresses[i%len(r.ingresses)]
		if err := n.kill(ctx); err != nil {
			return err
		}
		if err := r.load.more(ctx, r.rate/2); err != nil {
			return err
		}
		if err := n.start(ctx); err != nil {
			return err
		}
		if err := r.load.more(ctx, r.rate/2); err != nil {
			return err
		}
	}
	return nil
}

// killServers kills each in turn, so that the ingresses lose theirs and the
// workers theirs, and lets it be away for a second.
func killServers(ctx context.Context, r *run) error {
	for range pick(r.size, 1, 5) {
		for _, s := range r.servers {
			if err := s.kill(ctx); err != nil {
				return err
			}
			if err := lasts(ctx, time.Second); err != nil {
				return err
			}
			if err := s.start(ctx); err != nil {
				return err
			}
			if err := r.load.more(ctx, r.rate); err != nil {
				return err
			}
		}
	}
	return nil
}
