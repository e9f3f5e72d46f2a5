// Package actor fits long-lived functions to an oklog/run Group. An actor is a
// function that runs until its context ends, cleans up, and then returns;
// interrupting it only cancels that context, so that no actor can hold up the
// interrupts of others.
package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// New returns what run.Group.Add takes. What fails after ctx has ended, or after
// the interrupt, is logged and not returned: the program was to end, and does.
func New(ctx context.Context, log *slog.Logger, name string, run func(context.Context) error) (execute func() error, interrupt func(error)) {
	ctx, cancel := context.WithCancel(ctx)
	execute = func() error {
		err := run(ctx)
		if err != nil && ctx.Err() != nil {
			log.Error("actor ended badly", slog.String("actor", name), slog.Any("error", err))
			return nil //nolint:nilerr // it is logged
		}
		return err
	}
	return execute, func(error) { cancel() }
}

// HTTP serves on ln until ctx ends. It then takes no more requests, gives those
// in flight the grace period, and closes what is left.
func HTTP(srv *http.Server, ln net.Listener, grace time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ln) }()
		select {
		case err := <-served:
			return fmt.Errorf("serve %s: %w", ln.Addr(), err)
		case <-ctx.Done():
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := srv.Shutdown(ctx)
		if err != nil {
			err = errors.Join(fmt.Errorf("requests were still in flight after the grace period: %w", err), srv.Close())
		}
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}
}

// InFront runs front until ctx ends, and back until front has returned, so that
// front can rely on back for what it still has to answer. If one ends by itself,
// so does the other.
func InFront(front, back func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		frontCtx, stopFront := context.WithCancel(ctx)
		defer stopFront()
		backCtx, stopBack := context.WithCancel(context.WithoutCancel(ctx))
		defer stopBack()
		backErr := make(chan error, 1)
		go func() {
			defer stopFront()
			backErr <- back(backCtx)
		}()
		err := front(frontCtx)
		stopBack()
		return errors.Join(err, <-backErr)
	}
}

// All runs several functions at once until ctx ends or one of them returns, and
// returns when all have.
func All(runs ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		errs := make([]error, len(runs))
		var all sync.WaitGroup
		for i, run := range runs {
			all.Go(func() {
				defer cancel()
				errs[i] = run(ctx)
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}
}
