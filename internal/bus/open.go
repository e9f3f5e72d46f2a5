package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// openTimeout bounds the wait for a JetStream that may not be there.
	openTimeout = 5 * time.Second
	// electionTimeout bounds the wait for one that is there and has no leader.
	electionTimeout = 20 * time.Second
	// electionPause is between two tries in an election.
	electionPause = 500 * time.Millisecond
	// errCodeNoMetaLeader is what servers answer that know of no leader.
	errCodeNoMetaLeader jetstream.ErrorCode = 10008
)

// untilAnswered calls open, which finds or creates something in JetStream, until
// JetStream has answered. The error wraps ErrNoJetStream where there is none.
//
// A cluster without JetStream is silent, and so is one that elects a leader. What
// tells them apart is what the server says of itself. A worker that starts in an
// election must not take it for the former, and go without.
func untilAnswered(ctx context.Context, nc *nats.Conn, open func(context.Context) error) error {
	for end := time.Now().Add(electionTimeout); ; {
		err := within(ctx, openTimeout, open)
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case !isElection(nc, err):
			if isJetStreamMissing(err) {
				return fmt.Errorf("%w: %w", ErrNoJetStream, err)
			}
			return err
		case time.Now().After(end):
			return err
		}
		select {
		case <-time.After(electionPause):
		case <-ctx.Done():
			return err
		}
	}
}

func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// isElection tells whether err may be over when there is a leader.
func isElection(nc *nats.Conn, err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	enabled, _ := nc.ConnectedServerJetStream()
	return ok && api.ErrorCode == errCodeNoMetaLeader || enabled && errors.Is(err, context.DeadlineExceeded)
}

// isJetStreamMissing tells whether err is what a server without JetStream
// causes. In a cluster without it, that is silence.
func isJetStreamMissing(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) ||
		errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, context.DeadlineExceeded)
}
