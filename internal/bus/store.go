package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"golang.org/x/sync/semaphore"
)

const (
	// headerBlob is the claim to the body of a message whose own is empty.
	headerBlob = "Mcp-Blob"
	// maxLarge is the size of the largest message, unless NATS itself takes more.
	maxLarge = 16 << 20
	// storeTTL is when the store forgets what nobody has removed.
	storeTTL = 10 * time.Minute
	// storeBytes bounds what is in it.
	storeBytes = 1 << 30
	// maxChunk is the size of the messages that a large one is stored in. They have
	// to fit into NATS's.
	maxChunk = 128 << 10
	// maxTransfers is how many messages a process stores or fetches at once.
	maxTransfers = 4
	// transferTimeout bounds each of that, and maxTransferTries how often it is
	// begun again because the connection was lost.
	transferTimeout  = 10 * time.Second
	maxTransferTries = 3
	// missingFor is how long a JetStream that was not there is not asked again.
	missingFor = 10 * time.Second
	// maxWaste is how many messages may wait for their removal.
	maxWaste = 4096
)

// errDamaged says that what is stored is not what was put there.
var errDamaged = errors.New("the stored message is not the one that was put there")

// A store holds messages that are too large for NATS, in a JetStream object store
// that all processes of a realm share. A claim stands for a message: the name of
// the object and the digest of what must be in it. The store is opened when it is
// first used. It is safe for concurrent use.
type store struct {
	conn      *Conn
	bucket    string
	log       *slog.Logger
	transfers *semaphore.Weighted
	waste     chan string  // claims to what is to be removed
	retryAt   atomic.Int64 // Unix nanoseconds: there is no JetStream before that

	mu     sync.Mutex // guards what follows, also while it is being opened
	opened *objects   // nil if it has to be opened
}

func newStore(conn *Conn, realm string, log *slog.Logger) *store {
	return &store{
		conn:      conn,
		bucket:    "mcpyard-large-" + realm,
		log:       log,
		transfers: semaphore.NewWeighted(maxTransfers),
		waste:     make(chan string, maxWaste),
	}
}

// missing tells whether there was no JetStream a moment ago.
func (s *store) missing() bool {
	retryAt := s.retryAt.Load()
	return retryAt != 0 && time.Now().UnixNano() < retryAt
}

// put stores a message and returns the claim to it. It may do so although ctx has
// ended: what is half stored could not be removed.
func (s *store) put(ctx context.Context, message []byte) (claim string, err error) {
	err = s.transfer(ctx, func(ctx context.Context, o *objects) (err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transferTimeout)
		defer cancel()
		claim, err = o.put(ctx, message, min(maxChunk, int(s.conn.MaxPayload()/2)))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store a message of %d bytes: %w", len(message), err)
	}
	return claim, nil
}

// get returns the message that claim stands for.
func (s *store) get(ctx context.Context, claim string) (message []byte, err error) {
	err = s.transfer(ctx, func(ctx context.Context, o *objects) (err error) {
		ctx, cancel := context.WithTimeout(ctx, transferTimeout)
		defer cancel()
		message, err = o.get(ctx, claim)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fetch a stored message: %w", err)
	}
	return message, nil
}

// discard has the message removed soon, by clean. If that is too much, it stays
// until the store forgets it.
func (s *store) discard(claim string) {
	select {
	case s.waste <- claim:
	default:
	}
}

// clean removes what is discarded until stop is closed, and then what is left, for
// as long as ctx allows.
func (s *store) clean(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case claim := <-s.waste:
			s.remove(ctx, claim)
			continue
		case <-stop:
		}
		for len(s.waste) > 0 && ctx.Err() == nil {
			s.remove(ctx, <-s.waste)
		}
		return
	}
}

// remove removes the message that claim stands for, if it is there.
func (s *store) remove(ctx context.Context, claim string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.try(ctx, func(ctx context.Context, o *objects) error { return o.remove(ctx, claim) })
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		s.log.Warn("stored message not removed, it expires", slog.Any("error", err))
	}
}

// transfer does something with the store when it is its turn.
func (s *store) transfer(ctx context.Context, do func(context.Context, *objects) error) error {
	if err := s.transfers.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.transfers.Release(1)
	return s.try(ctx, do)
}

// try does something with the store, again if the connection was lost meanwhile or
// the store has been replaced.
func (s *store) try(ctx context.Context, do func(context.Context, *objects) error) error {
	for tries := 1; ; tries++ {
		epoch := s.conn.Stats().Reconnects
		opened, err := s.open(ctx)
		if err == nil {
			err = do(ctx, opened)
		}
		switch {
		case err == nil, ctx.Err() != nil, tries == maxTransferTries:
			return err
		case isStoreGone(err):
			s.forget(opened)
		case !s.interrupted(ctx, epoch):
			return err
		}
	}
}

// interrupted waits until the connection is up, and tells whether it was not since
// its count of reconnects was epoch.
func (s *store) interrupted(ctx context.Context, epoch uint64) bool {
	if up, _ := s.conn.Up(); up {
		return s.conn.Stats().Reconnects != epoch
	}
	select {
	case <-s.conn.Connected():
		return true
	case <-s.conn.closed:
	case <-time.After(outagePatience):
	case <-ctx.Done():
	}
	return false
}

func (s *store) open(ctx context.Context) (*objects, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.opened != nil:
		return s.opened, nil
	case s.missing():
		return nil, ErrNoJetStream
	}
	opened, err := openObjects(ctx, s.conn.Conn, s.bucket)
	if err == nil {
		s.opened = opened
		return opened, nil
	}
	if up, _ := s.conn.Up(); up && ctx.Err() == nil && isJetStreamMissing(err) {
		s.retryAt.Store(time.Now().Add(missingFor).UnixNano())
		err = fmt.Errorf("%w: %w", ErrNoJetStream, err)
	}
	return nil, fmt.Errorf("open object store %q: %w", s.bucket, err)
}

// forget has the store opened anew, unless that has been done.
func (s *store) forget(opened *objects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == opened {
		s.opened = nil
	}
}

// isStoreGone tells whether err is what an open store that was deleted causes.
func isStoreGone(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, jetstream.ErrBucketNotFound) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders)
}

// objects is an open object store. Messages are written through package jetstream.
// They are read and removed here, as NATS ADR-20 has it: without a consumer for
// each, at once aware of the end of a context and of chunks that are not there, and
// without writing to a store that may be full.
type objects struct {
	jetstream.ObjectStore
	stream jetstream.Stream
	bucket string
}

// openObjects returns the object store bucket, and creates it if there is none. One
// that exists is taken as it is.
func openObjects(ctx context.Context, nc *nats.Conn, bucket string) (*objects, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	objectStore, err := js.ObjectStore(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		objectStore, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket:      bucket,
			Description: "MCP messages that are too large for NATS",
			TTL:         storeTTL,
			MaxBytes:    storeBytes,
			Storage:     jetstream.FileStorage,
			Replicas:    1,
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // created meanwhile, with other settings
			objectStore, err = js.ObjectStore(ctx, bucket)
		}
	}
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "OBJ_"+bucket)
	if err != nil {
		return nil, err
	}
	return &objects{ObjectStore: objectStore, stream: stream, bucket: bucket}, nil
}

func (o *objects) put(ctx context.Context, message []byte, chunk int) (claim string, err error) {
	meta := jetstream.ObjectMeta{Name: nuid.Next(), Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(chunk)}} //nolint:gosec // at most maxChunk
	info, err := o.Put(ctx, meta, bytes.NewReader(message))
	if err != nil {
		// In a full store there may be room for the entry, though not for the chunks.
		return "", errors.Join(err, o.purge(context.WithoutCancel(ctx), o.entry(meta.Name)))
	}
	return meta.Name + " " + info.Digest, nil
}

func (o *objects) get(ctx context.Context, claim string) ([]byte, error) {
	name, digest, _ := strings.Cut(claim, " ")
	info, err := o.GetInfo(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case info.Size > maxLarge:
		return nil, errDamaged
	}
	message := make([]byte, 0, info.Size)
	for next := uint64(1); len(message) < int(info.Size); {
		m, err := o.stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(o.chunks(info)))
		if err != nil {
			return nil, err
		}
		message = append(message, m.Data...)
		next = m.Sequence + 1
	}
	sum := sha256.New()
	sum.Write(message)
	if digest != jetstream.GetObjectDigestValue(sum) {
		return nil, errDamaged
	}
	return message, nil
}

// remove leaves nothing of the object, not even a mark.
func (o *objects) remove(ctx context.Context, claim string) error {
	name, _, _ := strings.Cut(claim, " ")
	info, err := o.GetInfo(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(o.purge(ctx, o.entry(name)), o.purge(ctx, o.chunks(info)))
}

func (o *objects) purge(ctx context.Context, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return o.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// entry is the subject of what describes the object name.
func (o *objects) entry(name string) string {
	return "$O." + o.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// chunks is the subject of what the object consists of.
func (o *objects) chunks(info *jetstream.ObjectInfo) string {
	return "$O." + o.bucket + ".C." + info.NUID
}
