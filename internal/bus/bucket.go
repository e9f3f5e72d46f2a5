package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// callTimeout bounds the wait for the answer to one call.
	callTimeout = 5 * time.Second
	// rangeTimeout bounds one pass over a bucket.
	rangeTimeout = 10 * time.Second
	// markerTTL is how long watchers can still see that a key was deleted.
	// After that JetStream forgets the key, so that deleted keys cost nothing.
	markerTTL = time.Hour
	// headerKVOperation marks a message that deletes its key.
	headerKVOperation = "KV-Operation"
)

const keyAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// A Bucket is a JetStream key-value bucket, shared by all processes that open
// it. Keys consist of the letters A to Z and a to z, digits, - and _; any other
// is an error that wraps fs.ErrInvalid. A value must fit into one NATS message.
//
// What Create and Delete have done, Get sees at once from every process. Each
// call ends within seconds, whatever ctx allows. The methods may be called
// concurrently.
type Bucket struct {
	name     string
	kv       jetstream.KeyValue
	leader   nats.JetStreamContext   // reads from the stream's leader
	deletion []jetstream.KVDeleteOpt // how a key is deleted, beside its revision
}

// ErrNoJetStream is wrapped by the error of OpenBucket when NATS has no JetStream.
var ErrNoJetStream = errors.New("JetStream does not answer; start nats-server with -js, and enable JetStream for the account in use")

// OpenBucket returns the bucket name, and creates it if there is none: on disk,
// without history, with that many replicas. A bucket that exists is taken as it
// is, also when another process has just created it with other settings: these
// are its operator's to change.
func OpenBucket(ctx context.Context, nc *nats.Conn, name string, replicas int) (*Bucket, error) {
	var b *Bucket
	err := untilAnswered(ctx, nc, func(ctx context.Context) (err error) {
		b, err = openBucket(ctx, nc, name, replicas)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %q: %w", name, err)
	}
	return b, nil
}

func openBucket(ctx context.Context, nc *nats.Conn, name string, replicas int) (*Bucket, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	leader, err := nc.JetStream()
	if err != nil {
		return nil, err
	}
	kv, err := findOrCreate(ctx, js, jetstream.KeyValueConfig{
		Bucket:         name,
		Storage:        jetstream.FileStorage,
		History:        1,
		Replicas:       replicas,
		LimitMarkerTTL: markerTTL,
	})
	if err != nil {
		return nil, err
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, err
	}
	b := &Bucket{name: name, kv: kv, leader: leader}
	if ttl := status.LimitMarkerTTL(); ttl > 0 {
		b.deletion = append(b.deletion, jetstream.PurgeTTL(ttl))
	}
	return b, nil
}

func findOrCreate(ctx context.Context, js jetstream.JetStream, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	kv, err := js.KeyValue(ctx, cfg.Bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	kv, err = js.CreateKeyValue(ctx, cfg)
	if errors.Is(err, jetstream.ErrBucketExists) { // created meanwhile, with other settings
		return js.KeyValue(ctx, cfg.Bucket)
	}
	return kv, err
}

// Get returns the value of key, which the caller may change, and its revision.
// The error wraps fs.ErrNotExist when there is none.
//
// It asks the leader of the stream. Package jetstream would let any replica
// answer, and one that lags does not have what was created a moment ago.
func (b *Bucket) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	if !isBucketKey(key) {
		return nil, 0, b.failed("get", key, fs.ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	msg, err := b.leader.GetLastMsg("KV_"+b.name, "$KV."+b.name+"."+key, nats.Context(ctx))
	if err != nil {
		return nil, 0, b.failed("get", key, err)
	}
	if msg.Header.Get(headerKVOperation) != "" || msg.Header.Get(jetstream.MarkerReasonHeader) != "" {
		return nil, 0, b.failed("get", key, fs.ErrNotExist)
	}
	return msg.Data, msg.Sequence, nil
}

// Create stores a value under a new key. The error wraps fs.ErrExist when the
// key exists.
func (b *Bucket) Create(ctx context.Context, key string, value []byte) error {
	if !isBucketKey(key) {
		return b.failed("create", key, fs.ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := b.kv.Create(ctx, key, value); err != nil {
		return b.failed("create", key, err)
	}
	return nil
}

// Delete removes key if its revision is still the one that Get returned. The
// error wraps fs.ErrExist when it is not, which includes that the key is gone.
func (b *Bucket) Delete(ctx context.Context, key string, revision uint64) error {
	if !isBucketKey(key) || revision == 0 { // jetstream takes revision 0 for any
		return b.failed("delete", key, fs.ErrInvalid)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := append([]jetstream.KVDeleteOpt{jetstream.LastRevision(revision)}, b.deletion...)
	if err := b.kv.Purge(ctx, key, options...); err != nil {
		return b.failed("delete", key, err)
	}
	return nil
}

// Range calls visit with the keys and values, in no useful order and on the
// caller's goroutine, until visit returns false. visit may keep value.
//
// The pass begins with what one replica has at that moment, so a key that was
// created or deleted an instant before may be missing or still there.
func (b *Bucket) Range(ctx context.Context, visit func(key string, value []byte) bool) error {
	ctx, cancel := context.WithTimeout(ctx, rangeTimeout)
	defer cancel()
	watcher, err := b.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("read bucket %q: %w", b.name, err)
	}
	defer stopWatching(watcher)
	for entry := range watcher.Updates() {
		if entry == nil || !visit(entry.Key(), entry.Value()) { // nil comes after the last value
			return nil
		}
	}
	// Only the end of ctx or of the connection closes the channel before that.
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read bucket %q: %w", b.name, err)
	}
	return fmt.Errorf("read bucket %q: %w", b.name, nats.ErrConnectionClosed)
}

// stopWatching ends a watch in the middle. The watcher's callback blocks while
// nobody reads what it has to deliver, and only then is the channel closed.
func stopWatching(watcher jetstream.KeyWatcher) {
	_ = watcher.Stop() // a consumer that it could not delete is removed by the server, unused
	for range watcher.Updates() {
	}
}

// failed says what could not be done, and why in the terms of package fs.
func (b *Bucket) failed(op, key string, err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMsgNotFound):
		err = fs.ErrNotExist
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch),
		errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		err = fs.ErrExist
	}
	return fmt.Errorf("%s key %.64q in bucket %q: %w", op, key, b.name, err)
}

func isBucketKey(key string) bool { return key != "" && strings.Trim(key, keyAlphabet) == "" }
