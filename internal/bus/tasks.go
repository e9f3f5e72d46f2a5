package bus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// taskConsumer is the durable consumer through which the workers of a pool
	// pull tasks.
	taskConsumer = "workers"
	// taskIDHeader names the task that a message in the queue is about.
	taskIDHeader = "Mcp-Task"
	// taskLiveHeader is on records of tasks that have not ended.
	taskLiveHeader = "Mcp-Task-Live"
	// discardedFor is how long a discarded record leaves a trace.
	discardedFor = time.Minute
	// unavailable is the code of errors that may be over soon.
	unavailable = 503
)

// Errors of Tasks beside those of package fs.
var (
	// ErrTasksFull says that there is no room for a further task.
	ErrTasksFull = errors.New("no room for more tasks")
	// ErrPrincipalFull says that the principal has as many tasks as it may have.
	ErrPrincipalFull = errors.New("the principal has as many tasks as it may have")
)

// A TasksConfig says how the tasks of a pool are stored. All but the address
// counts for what does not exist yet: streams that are there are taken as they
// are, since they are their operator's to change.
type TasksConfig struct {
	Address
	Replicas        int           // of both streams and the consumer; 0 means 1
	MaxTasks        int           // that have not ended; 0 means 100,000
	MaxPerPrincipal int           // of these of one principal; 0: as many as there may be
	MaxBytes        int64         // of all records; 0 means no bound but the server's
	AckWait         time.Duration // how long a worker may be silent before its tasks are given to others; 0 means 10 s
}

func (c TasksConfig) withDefaults() TasksConfig {
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.MaxTasks = cmp.Or(c.MaxTasks, 100_000)
	c.MaxBytes = cmp.Or(c.MaxBytes, -1)
	c.AckWait = cmp.Or(c.AckWait, 10*time.Second)
	return c
}

// Tasks is what JetStream keeps of the tasks of one pool: a bucket with a record
// of each, and a queue with one message for each that has not ended. It knows
// nothing of what is in a record. Its methods may be called concurrently; each
// ends within seconds, whatever ctx allows.
type Tasks struct {
	conn     *Conn
	cfg      TasksConfig
	log      *slog.Logger
	js       jetstream.JetStream
	leader   nats.JetStreamContext // reads from the stream's leader
	replicas int                   // of the bucket as it is
	ackWait  time.Duration         // of the consumer as it is
}

// OpenTasks returns the tasks of a pool, and creates the streams that they live
// in if there are none. The error wraps ErrNoJetStream where there is none.
func OpenTasks(ctx context.Context, conn *Conn, cfg TasksConfig, log *slog.Logger) (*Tasks, error) {
	t := &Tasks{conn: conn, cfg: cfg.withDefaults(), log: log.With("component", "tasks")}
	if err := untilAnswered(ctx, conn.Conn, t.open); err != nil {
		return nil, fmt.Errorf("open the tasks: %w", err)
	}
	return t, nil
}

func (t *Tasks) open(ctx context.Context) (err error) {
	if t.js, err = jetstream.New(t.conn.Conn); err != nil {
		return err
	}
	if t.leader, err = t.conn.JetStream(); err != nil {
		return err
	}
	bucket, err := t.openStream(ctx, t.bucketConfig())
	if err != nil {
		return err
	}
	t.replicas = bucket.CachedInfo().Config.Replicas
	if _, err := t.openStream(ctx, t.queueConfig()); err != nil {
		return err
	}
	return t.openConsumer(ctx)
}

// bucket is the name of the key-value bucket, queue that of the stream.
func (t *Tasks) bucket() string { return "mcpyard-tasks-" + t.cfg.Realm + "-" + t.cfg.Pool }
func (t *Tasks) queue() string  { return "mcpyard-taskq-" + t.cfg.Realm + "-" + t.cfg.Pool }

func (t *Tasks) bucketStream() string           { return "KV_" + t.bucket() }
func (t *Tasks) recordSubject(id string) string { return "$KV." + t.bucket() + "." + id }

// queued are the subjects of the queue: one for each principal, so that its
// messages can be counted.
func (t *Tasks) queued() string { return t.cfg.prefix() + ".tq.*" }

func (t *Tasks) queueSubject(principal string) string {
	if principal == "" {
		return t.cfg.prefix() + ".tq." + noTool
	}
	sum := sha256.Sum256([]byte(principal))
	return t.cfg.prefix() + ".tq." + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// bucketConfig is that of a key-value bucket, but for delete markers: a record
// whose time is over is nobody's news.
func (t *Tasks) bucketConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              t.bucketStream(),
		Description:       "Tasks of the pool " + t.cfg.Pool + " of the realm " + t.cfg.Realm,
		Subjects:          []string{t.recordSubject(">")},
		Storage:           jetstream.FileStorage,
		Replicas:          t.cfg.Replicas,
		MaxBytes:          t.cfg.MaxBytes,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardNew,
		AllowRollup:       true,
		AllowDirect:       true,
		AllowMsgTTL:       true,
	}
}

func (t *Tasks) queueConfig() jetstream.StreamConfig {
	cfg := jetstream.StreamConfig{
		Name:        t.queue(),
		Description: "Queue of the tasks of the pool " + t.cfg.Pool + " of the realm " + t.cfg.Realm,
		Subjects:    []string{t.queued()},
		Storage:     jetstream.FileStorage,
		Replicas:    t.cfg.Replicas,
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew,
		MaxMsgs:     int64(t.cfg.MaxTasks),
		Duplicates:  2 * time.Minute,
		AllowDirect: true,
	}
	if each := t.cfg.MaxPerPrincipal; each > 0 {
		cfg.MaxMsgsPerSubject, cfg.DiscardNewPerSubject = int64(each), true
	}
	return cfg
}

// openStream finds or creates a stream. One of that name for other subjects,
// which another realm and pool can have, is an error.
func (t *Tasks) openStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := t.js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = t.js.CreateStream(ctx, cfg)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // created meanwhile, with other settings
			stream, err = t.js.Stream(ctx, cfg.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", cfg.Name, err)
	}
	if !slices.Equal(stream.CachedInfo().Config.Subjects, cfg.Subjects) {
		return nil, fmt.Errorf("stream %s is that of other subjects than %s", cfg.Name, cfg.Subjects[0])
	}
	return stream, nil
}

func (t *Tasks) openConsumer(ctx context.Context) error {
	consumer, err := t.js.Consumer(ctx, t.queue(), taskConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = t.js.CreateConsumer(ctx, t.queue(), jetstream.ConsumerConfig{
			Durable:       taskConsumer,
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       t.cfg.AckWait,
			MaxDeliver:    -1, // how often a task is started is not how often it is delivered
			MaxAckPending: -1, // workers pull no more than they have slots for
			MaxWaiting:    4096,
		})
		if errors.Is(err, jetstream.ErrConsumerExists) {
			consumer, err = t.js.Consumer(ctx, t.queue(), taskConsumer)
		}
	}
	if err != nil {
		return fmt.Errorf("consumer %s of %s: %w", taskConsumer, t.queue(), err)
	}
	t.ackWait = consumer.CachedInfo().Config.AckWait
	return nil
}

// AckWait is how long a worker may be silent about a task before the task is
// given to another.
func (t *Tasks) AckWait() time.Duration { return t.ackWait }

// MaxRecord is the largest record in bytes.
func (t *Tasks) MaxRecord() int64 { return t.conn.MaxPayload() - maxOverhead }

// Create stores the record of a new task for the time ttl. The error wraps
// fs.ErrExist if there is one, and ErrTasksFull if there is no room.
func (t *Tasks) Create(ctx context.Context, id string, record []byte, ttl time.Duration) (revision uint64, err error) {
	return t.write(ctx, id, record, 0, true, ttl)
}

// Write replaces a record if its revision is still that one; else the error wraps
// fs.ErrExist. The record lives for ttl from now. live says that the task has
// not ended.
func (t *Tasks) Write(ctx context.Context, id string, record []byte, revision uint64, live bool, ttl time.Duration) (uint64, error) {
	if revision == 0 {
		return 0, taskError("write", id, fs.ErrInvalid)
	}
	return t.write(ctx, id, record, revision, live, ttl)
}

func (t *Tasks) write(ctx context.Context, id string, record []byte, revision uint64, live bool, ttl time.Duration) (uint64, error) {
	if !isToken(id) {
		return 0, taskError("write", id, fs.ErrInvalid)
	}
	m := &nats.Msg{Subject: t.recordSubject(id), Data: record, Header: expected(revision, ttl)}
	if live {
		m.Header[taskLiveHeader] = []string{"1"}
	}
	return t.publish(ctx, "write", id, m)
}

// Discard removes a record if its revision is still that one; else the error
// wraps fs.ErrExist.
func (t *Tasks) Discard(ctx context.Context, id string, revision uint64) error {
	m := &nats.Msg{Subject: t.recordSubject(id), Header: expected(revision, discardedFor)}
	m.Header[headerKVOperation] = []string{"PURGE"}
	m.Header[jetstream.MsgRollup] = []string{jetstream.MsgRollupSubject}
	_, err := t.publish(ctx, "discard", id, m)
	return err
}

// expected are the headers of a write that depends on the revision before it. A
// message that replaces another does not inherit its time to live.
func expected(revision uint64, ttl time.Duration) nats.Header {
	seconds := max(1, int64((ttl+time.Second-1)/time.Second))
	return nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(revision, 10)},
		jetstream.MsgTTLHeader:              {strconv.FormatInt(seconds, 10) + "s"},
	}
}

func (t *Tasks) publish(ctx context.Context, op, id string, m *nats.Msg) (sequence uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ack, err := t.js.PublishMsg(ctx, m)
	if err != nil {
		return 0, taskError(op, id, err)
	}
	return ack.Sequence, nil
}

// Read returns a record and its revision. The error wraps fs.ErrNotExist when
// there is none. What another process has written before is there: with replicas
// it asks the leader, as another may lag.
func (t *Tasks) Read(ctx context.Context, id string) (record []byte, revision uint64, err error) {
	if !isToken(id) || id == sweepKey { // one too long for a subject would cost the connection
		return nil, 0, taskError("read", id, fs.ErrNotExist)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	options := []nats.JSOpt{nats.Context(ctx)}
	if t.replicas == 1 {
		options = append(options, nats.DirectGet())
	}
	m, err := t.leader.GetLastMsg(t.bucketStream(), t.recordSubject(id), options...)
	if err != nil {
		return nil, 0, taskError("read", id, err)
	}
	if m.Header.Get(headerKVOperation) != "" || m.Header.Get(jetstream.MarkerReasonHeader) != "" {
		return nil, 0, taskError("read", id, fs.ErrNotExist)
	}
	return m.Data, m.Sequence, nil
}

// Enqueue puts the message of a task into the queue. The error wraps
// ErrPrincipalFull or ErrTasksFull if there is no room. The same task may be
// enqueued again when it is unknown whether it was: within two minutes that is
// the same message.
func (t *Tasks) Enqueue(ctx context.Context, principal, id string, body []byte) error {
	_, err := t.publish(ctx, "enqueue", id, &nats.Msg{
		Subject: t.queueSubject(principal),
		Data:    body,
		Header:  nats.Header{taskIDHeader: {id}, jetstream.MsgIDHeader: {id}},
	})
	return err
}

// Full tells which bound an error speaks of: that of all tasks, or that of the
// principal.
func (t *Tasks) Full(err error) (all, principal bool) {
	return errors.Is(err, ErrTasksFull), errors.Is(err, ErrPrincipalFull)
}

// Away tells whether an error says that JetStream cannot be reached at the moment,
// as when it elects a leader, and whether it is certain that nothing was done.
func (t *Tasks) Away(err error) (away, undone bool) {
	api, refused := errors.AsType[*jetstream.APIError](err)
	undone = refused && api.Code == unavailable ||
		errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, nats.ErrJetStreamNotEnabled) || // the same, to a request for a record
		errors.Is(err, jetstream.ErrNoStreamResponse)
	return undone || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout), undone
}

// Queued is the number of tasks that have not ended.
func (t *Tasks) Queued(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream, err := t.js.Stream(ctx, t.queue())
	if err != nil {
		return 0, fmt.Errorf("look at the queue %s: %w", t.queue(), err)
	}
	return int(stream.CachedInfo().State.Msgs), nil //nolint:gosec // a count
}

// Ack takes a message out of the queue. ack is where the message says that this
// is to be sent; so for the next two.
func (t *Tasks) Ack(ack string) { t.answer(ack, "+ACK") }

// Nak has a message delivered again, after a while. It does not matter how often
// it has been delivered since.
func (t *Tasks) Nak(ack string, after time.Duration) {
	if after <= 0 {
		t.answer(ack, "-NAK")
		return
	}
	t.answer(ack, `-NAK {"delay":`+strconv.FormatInt(after.Nanoseconds(), 10)+`}`)
}

// Progress keeps a message from being delivered again for the time of AckWait.
func (t *Tasks) Progress(ack string) { t.answer(ack, "+WPI") }

func (t *Tasks) answer(ack, what string) {
	if ack == "" {
		return
	}
	if err := t.conn.Publish(ack, []byte(what)); err != nil {
		t.log.Warn("message of a task not answered", slog.String("answer", what), slog.Any("error", err))
	}
}

// taskError says what could not be done, and why in terms that callers know.
func taskError(op, id string, err error) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch {
		case api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence, api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			err = fs.ErrExist
		case strings.Contains(api.Description, "per subject exceeded"): // the server has no code of its own for these
			err = ErrPrincipalFull
		case strings.HasPrefix(api.Description, "maximum"), strings.HasPrefix(api.Description, "insufficient"):
			err = ErrTasksFull
		}
	}
	if errors.Is(err, nats.ErrMsgNotFound) {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("%s task %.64q: %w", op, id, err)
}
