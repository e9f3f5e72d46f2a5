package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	// retryAfter is when a client may try again that was refused for lack of room, or
	// of a JetStream that answers.
	retryAfter = 5 * time.Second
	// enqueueFor is how long a new task is tried to be queued.
	enqueueFor = 5 * time.Second
	// enqueuePause is between two tries.
	enqueuePause = 100 * time.Millisecond
	// maxRaces is how often a change is made again because another came first.
	maxRaces = 100
)

// A Service is what clients can do with tasks: create, look at, answer and cancel
// them. Errors that are *jsonrpc.Error are for the client. It keeps nothing and is
// safe for concurrent use.
type Service struct {
	storage Storage
	cfg     Config
	log     *slog.Logger
}

// NewService returns the service of the tasks in storage.
func NewService(storage Storage, cfg Config, log *slog.Logger) *Service {
	return &Service{storage: storage, cfg: cfg.withDefaults(), log: log.With("component", "tasks")}
}

// Create makes a task of w. When it returns, every worker finds the task, and one
// of them will run it.
//
// Spec: Tasks extension, Task Creation.
func (s *Service) Create(ctx context.Context, w *mcp.TaskWork) (mcp.Task, error) {
	r := newRecord(w, s.cfg.Now(), s.cfg.TTL)
	if _, err := s.add(ctx, r); err != nil {
		return mcp.Task{}, err
	}
	return r.view(s.cfg.Now()), nil
}

// add stores and queues a new record. Once it is stored, it is only ever taken
// back when it is known that it was not queued.
func (s *Service) add(ctx context.Context, r *record) (revision uint64, err error) {
	raw, err := r.encode()
	if err != nil {
		return 0, err
	}
	if limit := s.storage.MaxRecord(); int64(len(raw)) > limit-maxWrapping {
		return 0, mcp.MessageTooLarge("request", limit-maxWrapping)
	}
	revision, err = s.storage.Create(ctx, r.ID, raw, s.cfg.TTL)
	if err != nil {
		return 0, s.uncreated(ctx, s.refusal(err))
	}
	refusal := s.refusal(s.enqueue(ctx, r, raw, revision))
	if _, full := errors.AsType[*jsonrpc.Error](refusal); !full {
		return revision, nil // queued, or for the sweep to queue
	}
	if err := s.storage.Discard(context.WithoutCancel(ctx), r.ID, revision); err != nil {
		s.log.WarnContext(ctx, "task is kept that was not to be", slog.Any("error", err))
		return revision, nil
	}
	return 0, refusal
}

// refusal is what the client is told if err says that there is no room.
func (s *Service) refusal(err error) error {
	switch all, principal := s.storage.Full(err); {
	case all:
		return mcp.Overloaded(retryAfter)
	case principal:
		return mcp.RateLimited("tasks", retryAfter)
	}
	return err
}

// uncreated is what the client is told of a task that may not have been stored. One
// that was is queued by the sweep, so that this is not the time to ask again.
func (s *Service) uncreated(ctx context.Context, err error) error {
	if away, undone := s.storage.Away(err); away && !undone {
		s.log.WarnContext(ctx, "task may have been created", slog.Any("error", err))
		return mcp.OutcomeUnknown("whether the task has been created is not known")
	}
	return s.unreached(ctx, err)
}

// unreached is what the client is told if err says that the task cannot be reached:
// what it asks of a task that exists may be asked again.
func (s *Service) unreached(ctx context.Context, err error) error {
	if away, _ := s.storage.Away(err); away {
		s.log.WarnContext(ctx, "tasks cannot be reached", slog.Any("error", err))
		return mcp.Overloaded(retryAfter)
	}
	return err
}

// enqueue tries until it is known that the record is queued, or that it cannot be.
func (s *Service) enqueue(ctx context.Context, r *record, raw []byte, revision uint64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueFor)
	defer cancel()
	for {
		err := s.storage.Enqueue(ctx, r.Principal, r.ID, wrap(raw, revision))
		if all, principal := s.storage.Full(err); err == nil || all || principal {
			return err
		}
		select {
		case <-time.After(enqueuePause):
		case <-ctx.Done():
			s.log.WarnContext(ctx, "task not queued, which the next sweep will do", slog.Any("error", err))
			return err
		}
	}
}

// Get returns a task of principal.
func (s *Service) Get(ctx context.Context, principal, id string) (mcp.Task, error) {
	r, _, err := s.find(ctx, principal, id)
	if err != nil {
		return mcp.Task{}, err
	}
	return r.view(s.cfg.Now()), nil
}

// Update gives a task the answers of its client. Those that were not asked for
// are ignored.
//
// Spec: Tasks extension, Task Update Requests.
func (s *Service) Update(ctx context.Context, principal, id string, answers mcp.InputResponses) error {
	var parked string
	r, changed, err := s.change(ctx, principal, id, func(r *record) bool {
		taken := r.answer(answers)
		if parked = ""; r.Status == mcp.TaskWorking {
			parked, r.Parked = r.Parked, ""
		}
		return taken
	})
	if err != nil || !changed {
		return err
	}
	if r.Status == mcp.TaskWorking {
		s.storage.Nak(parked, 0)
	}
	return nil
}

// Cancel ends a task that nobody runs, and tells the worker that runs it.
//
// Spec: Tasks extension, Task Cancellation.
func (s *Service) Cancel(ctx context.Context, principal, id string) error {
	var parked string
	r, changed, err := s.change(ctx, principal, id, func(r *record) bool {
		parked = r.Parked
		return r.cancel(s.cfg.Now(), s.cfg.Retention)
	})
	if err != nil || !changed {
		return err
	}
	if r.Status.Terminal() {
		s.storage.Ack(parked)
		return nil
	}
	if err := s.storage.TellCancelled(ctx, r.Owner, id); err != nil { // it will see it, if it lives
		s.log.DebugContext(ctx, "worker not told that its task is cancelled", slog.Any("error", err))
	}
	return nil
}

// find reads a record. For any other principal than its own there is none.
func (s *Service) find(ctx context.Context, principal, id string) (*record, uint64, error) {
	r, revision, err := s.read(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, mcp.TaskNotFound()
	case err != nil:
		return nil, 0, s.unreached(ctx, err)
	case r.Principal != principal:
		return nil, 0, mcp.TaskNotFound()
	}
	return r, revision, nil
}

func (s *Service) read(ctx context.Context, id string) (*record, uint64, error) {
	raw, revision, err := s.storage.Read(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	r, err := parseRecord(raw)
	return r, revision, err
}

// change makes a change to a task of principal and tells others of it. f says
// whether there is anything to change; it is called again when another change
// came first.
func (s *Service) change(ctx context.Context, principal, id string, f func(*record) bool) (r *record, changed bool, err error) {
	for range maxRaces {
		r, revision, err := s.find(ctx, principal, id)
		if err != nil || !f(r) {
			return r, false, err
		}
		_, err = s.write(ctx, r, revision)
		if err == nil {
			s.cfg.Events(mcp.TaskChanged(id))
		}
		if !errors.Is(err, fs.ErrExist) {
			return r, err == nil, s.unreached(ctx, err)
		}
	}
	return nil, false, fmt.Errorf("task %s: %d changes came before this one", id, maxRaces)
}

// write writes r, and in it when.
func (s *Service) write(ctx context.Context, r *record, revision uint64) (uint64, error) {
	now := s.cfg.Now()
	r.Updated = now.UTC().Truncate(time.Millisecond)
	raw, err := r.encode()
	if err != nil {
		return 0, err
	}
	if limit := s.storage.MaxRecord(); int64(len(raw)) > limit {
		return 0, mcp.MessageTooLarge("task with its result", limit)
	}
	return s.storage.Write(ctx, r.ID, raw, revision, !r.Status.Terminal(), r.Expires.Sub(now))
}

// maxWrapping is what wrap adds to a record, and its first owner.
const maxWrapping = 256

// A message is what the queue has of a task: its record as it was then, so that
// it can be begun without being read.
type message struct {
	Revision uint64
	record   *record
}

func wrap(raw []byte, revision uint64) []byte {
	return fmt.Appendf(nil, `{"revision":%d,"record":%s}`, revision, raw)
}

func unwrap(body []byte) (message, error) {
	var m struct {
		Revision uint64  `json:"revision"`
		Record   *record `json:"record"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, fmt.Errorf("read the message of a task: %w", err)
	}
	if m.Record == nil || m.Record.ID == "" {
		return message{}, errors.New("the message of a task has none")
	}
	return message{Revision: m.Revision, record: m.Record}, nil
}
