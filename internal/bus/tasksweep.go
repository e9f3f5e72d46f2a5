package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// sweepKey is the record that says who sweeps; no task has such an id.
	sweepKey = "_sweep"
	// sweepTimeout bounds one pass.
	sweepTimeout = 30 * time.Second
)

// TakeSweep tells whether this worker is the one that sweeps in the time until
// the next is due.
func (t *Tasks) TakeSweep(ctx context.Context, every time.Duration) bool {
	m := &nats.Msg{Subject: t.recordSubject(sweepKey), Header: expected(0, every)}
	_, err := t.publish(ctx, "sweep", sweepKey, m)
	return err == nil
}

// Lost visits the ids of tasks that have not ended and that nothing is queued
// for, of those that were last written since then but not in the last while.
func (t *Tasks) Lost(ctx context.Context, since time.Time, settled time.Duration, visit func(id string)) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	live, err := t.liveRecords(ctx, since, time.Now().Add(-settled))
	if err != nil || len(live) == 0 {
		return err
	}
	if err := t.removeQueued(ctx, live); err != nil {
		return err
	}
	for id := range live {
		visit(id)
	}
	return nil
}

// liveRecords are the ids of tasks that have not ended and were written in that
// time. Records are not read, only their headers.
func (t *Tasks) liveRecords(ctx context.Context, since, until time.Time) (map[string]struct{}, error) {
	cfg := jetstream.ConsumerConfig{
		FilterSubject: t.recordSubject("*"), HeadersOnly: true, AckPolicy: jetstream.AckNonePolicy,
		DeliverPolicy: jetstream.DeliverAllPolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: sweepTimeout,
	}
	if !since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &since
	}
	consumer, err := t.js.CreateConsumer(ctx, t.bucketStream(), cfg)
	if err != nil {
		return nil, fmt.Errorf("read the bucket %s: %w", t.bucket(), err)
	}
	defer t.forget(ctx, consumer)
	live := make(map[string]struct{})
	for more := true; more; {
		batch, err := consumer.FetchNoWait(1024)
		if err != nil {
			return nil, fmt.Errorf("read the bucket %s: %w", t.bucket(), err)
		}
		more = false
		for m := range batch.Messages() {
			more = true
			meta, err := m.Metadata()
			if err == nil && meta.Timestamp.Before(until) && m.Headers().Get(taskLiveHeader) != "" {
				live[strings.TrimPrefix(m.Subject(), t.recordSubject(""))] = struct{}{}
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// forget deletes a consumer that nobody needs any more, or leaves that to the
// server.
func (t *Tasks) forget(ctx context.Context, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_ = t.js.DeleteConsumer(ctx, t.bucketStream(), consumer.CachedInfo().Name)
}

// removeQueued removes the tasks from live that the queue has a message for.
func (t *Tasks) removeQueued(ctx context.Context, live map[string]struct{}) error {
	stream, err := t.js.Stream(ctx, t.queue())
	if err != nil {
		return fmt.Errorf("read the queue %s: %w", t.queue(), err)
	}
	for sequence := stream.CachedInfo().State.FirstSeq; ; {
		m, err := stream.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(t.queued()))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the queue %s: %w", t.queue(), err)
		}
		delete(live, m.Header.Get(taskIDHeader))
		sequence = m.Sequence + 1
	}
}
