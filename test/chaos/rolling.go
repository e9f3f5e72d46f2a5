package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Restarts in order, one process at a time.
func rolling() []scenario {
	return []scenario{{
		name:     "rolling restart of the workers",
		fault:    rollWorkers,
		promises: []promise{noneFails, within(time.Second)},
	}, {
		name:     "rolling restart of the ingresses",
		resends:  true,
		fault:    rollIngresses,
		promises: []promise{noneFails, within(time.Second)},
	}, {
		name:     "rolling restart of the NATS servers",
		layout:   layout{servers: 3},
		fault:    rollServers,
		promises: []promise{noneFails},
	}, {
		name:     "NATS servers in lame duck mode",
		layout:   layout{servers: 3},
		fault:    lameDucks,
		promises: []promise{noneFails},
		longOnly: true,
	}}
}

func rollWorkers(ctx context.Context, r *run) error {
	for range pick(r.size, 1, 2) {
		for _, w := range r.workers {
			if err := w.restart(ctx); err != nil {
				return err
			}
			if err := r.load.more(ctx, pick(r.size, 100, 6500)); err != nil { // the long form has 50,000 in all
				return err
			}
		}
	}
	return nil
}

func rollIngresses(ctx context.Context, r *run) error {
	for range pick(r.size, 1, 5) {
		for _, n := range r.ingresses {
			if err := n.restart(ctx); err != nil {
				return err
			}
			if err := r.load.more(ctx, r.rate); err != nil {
				return err
			}
		}
	}
	resent := 0
	for _, c := range r.load.soFar() {
		resent += c.resent
	}
	r.note("%d calls sent again by clients whose connection was cut", resent)
	return nil
}

func rollServers(ctx context.Context, r *run) error {
	for _, s := range r.servers {
		if err := s.restart(ctx); err != nil {
			return err
		}
		if err := r.load.more(ctx, r.rate); err != nil {
			return err
		}
	}
	return nil
}

// lameDucks has each server send its clients away, which takes it half a minute.
func lameDucks(ctx context.Context, r *run) error {
	for _, s := range r.servers {
		if err := s.running.Signal(syscall.SIGUSR2); err != nil {
			return err
		}
		gone, cancel := context.WithTimeout(ctx, time.Minute)
		_ = s.running.Wait(gone)
		err := gone.Err()
		cancel()
		if err != nil {
			return fmt.Errorf("%s does not leave: %w", s.name, err)
		}
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	return nil
}
