package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const mebibyte = 1 << 20

// Messages of 4 MiB in both directions, whether they fit into a message of NATS or
// not, beside small ones.
func large() []scenario {
	calls := func(name string, maxPayload int) scenario {
		return scenario{
			name:     name,
			layout:   layout{maxPayload: maxPayload},
			mix:      small,
			rate:     50,
			fault:    sendLarge,
			promises: []promise{noneFails, keepsPace("small", 4)},
		}
	}
	return []scenario{
		calls("4 MiB up and down, max_payload 1 MiB", mebibyte),
		calls("4 MiB up and down, max_payload 8 MiB", 8*mebibyte),
	}
}

func small(*rand.Rand) call { return call{tool: "read", work: 5 * time.Millisecond, kind: "small"} }

func sendLarge(ctx context.Context, r *run) error {
	if err := r.load.more(ctx, pick(r.size, 100, 1500)); err != nil {
		return err
	}
	rest := letters(rand.New(rand.NewPCG(1, 2)), 4*mebibyte-16)
	r.struck = time.Now()
	l := r.begin(ctx, "large", pick(r.size, 2, 5), func(random *rand.Rand) call {
		return call{tool: "write", work: 5 * time.Millisecond, kind: "large", text: letters(random, 16) + rest}
	})
	if err := l.more(ctx, pick(r.size, 10, 1000)); err != nil {
		return err
	}
	l.end()
	r.load.end()
	return r.nothingIsLeft(ctx)
}

// nothingIsLeft holds the bus to leaving no object in any object store.
func (r *run) nothingIsLeft(ctx context.Context) error {
	conn, err := nats.Connect(r.servers[0].url())
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	var left int
	waiting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := eventually(waiting, func() (bool, error) {
		var err error
		left, err = objects(ctx, js)
		return left == 0, err
	}); err != nil {
		r.breaks("%d objects are left in object stores: %w", left, err)
	}
	return nil
}

// objects counts what is in all object stores.
func objects(ctx context.Context, js jetstream.JetStream) (n int, err error) {
	names := js.ObjectStoreNames(ctx)
	for name := range names.Name() {
		store, err := js.ObjectStore(ctx, name)
		if err != nil {
			return 0, err
		}
		all, err := store.List(ctx)
		if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
			return 0, err
		}
		n += len(all)
	}
	return n, names.Error()
}
