package task

import (
	"cmp"
	"context"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A Store keeps records by id. Errors wrap fs.ErrExist when the record is not as
// the caller expected, and fs.ErrNotExist when there is none. A write with any
// other error may have been done nevertheless.
type Store interface {
	Create(ctx context.Context, id string, record []byte, ttl time.Duration) (revision uint64, err error)
	Read(ctx context.Context, id string) (record []byte, revision uint64, err error)
	Write(ctx context.Context, id string, record []byte, revision uint64, live bool, ttl time.Duration) (uint64, error)
	Discard(ctx context.Context, id string, revision uint64) error
	// Lost visits the tasks that have not ended and have no message in the queue,
	// of those written since then but not within settled.
	Lost(ctx context.Context, since time.Time, settled time.Duration, visit func(id string)) error
	// TakeSweep tells whether it is this worker's turn to look for them.
	TakeSweep(ctx context.Context, every time.Duration) bool
	// Away tells whether an error says that there is nobody to ask at the moment, and
	// whether it is certain that nothing was done.
	Away(err error) (away, undone bool)
	MaxRecord() int64 // in bytes
}

// A Queue has a message for each task that has not ended. ack is where a message
// says that its answers go; what is answered counts whoever does it.
type Queue interface {
	Enqueue(ctx context.Context, principal, id string, body []byte) error
	// Full tells whether an error of Enqueue or Create says that there is no room:
	// in all, or for this principal.
	Full(err error) (all, principal bool)
	Ack(ack string)
	Nak(ack string, after time.Duration)
	Progress(ack string)
	// AckWait is how long a worker may be silent about a message before it is
	// given to another.
	AckWait() time.Duration
	// Pull calls receive for as many messages as there is room for, until ctx
	// ends. freed has a value when there is more room.
	Pull(ctx context.Context, room func() int, freed <-chan struct{}, receive func(body []byte, ack string)) error
}

// Words are what workers ask and tell each other. An error says that the other
// worker does not answer.
type Words interface {
	Holds(ctx context.Context, worker, id, ack string) (bool, error)
	TellCancelled(ctx context.Context, worker, id string) error
	Answer(worker string, holds func(id, ack string) bool, cancelled func(id string) bool) (stop func(), err error)
}

// Storage is all that tasks need of what is outside of this process.
type Storage interface {
	Store
	Queue
	Words
}

// A Config says how tasks live. The zero value of each member but the first is
// what is named.
type Config struct {
	Worker    string           // names this incarnation of the worker
	TTL       time.Duration    // how long a task may take to end: 24 h
	Retention time.Duration    // how long it is kept after that: 1 h
	Events    func(mcp.Event)  // takes the changes of tasks; nobody
	Now       func() time.Time // time.Now

	Slots  int           // tasks that run here at once: 1
	Occupy func()        // called when one begins to take a slot; nothing
	Vacate func()        // called when it does no more; nothing
	Grace  time.Duration // for what runs when the worker stops: 30 s

	Settle time.Duration // how long an owner that does not answer is waited for: 3 s
	Parked time.Duration // how long the message of a task that waits for its client is put aside: 30 s
	Sweep  time.Duration // between two searches for tasks that were never queued: 30 s

	// Settled is the age from which a task has been queued, if it ever was: 1 min.
	Settled time.Duration
}

func (c Config) withDefaults() Config {
	c.TTL = cmp.Or(c.TTL, 24*time.Hour)
	c.Retention = cmp.Or(c.Retention, time.Hour)
	c.Slots = cmp.Or(c.Slots, 1)
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	c.Settle = cmp.Or(c.Settle, 3*time.Second)
	c.Parked = cmp.Or(c.Parked, 30*time.Second)
	c.Sweep = cmp.Or(c.Sweep, 30*time.Second)
	c.Settled = cmp.Or(c.Settled, time.Minute)
	if c.Events == nil {
		c.Events = func(mcp.Event) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Occupy == nil {
		c.Occupy = func() {}
	}
	if c.Vacate == nil {
		c.Vacate = func() {}
	}
	return c
}
