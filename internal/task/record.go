// Package task is the life of tasks: tool calls that are answered with a handle
// and run later, by any worker, once.
//
// A task is a record in a store and a message in a queue, which is there as long
// as the task has not ended. The record is the truth; every change of it is
// conditional on the state that it was made from. A worker that begins a task
// writes its name into the record and raises the fence; from then on it may
// write only while both are as it left them, so that a worker which was taken
// for lost changes nothing any more. A message is acknowledged after the record
// says that the task has ended, and by nobody else.
//
// Start at Service, which has the methods that clients call; Runner runs tasks:
// claim.go decides what is done about a message, finish.go how a run ends.
// record.go has the states and what leads from one to the other.
package task

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A record is all that is known of a task.
type record struct {
	ID        string         `json:"id"`
	Principal string         `json:"principal,omitzero"` // who may see it
	Status    mcp.TaskStatus `json:"status"`
	Message   string         `json:"message,omitzero"`
	Created   time.Time      `json:"created"`
	Updated   time.Time      `json:"updated"`
	Expires   time.Time      `json:"expires"`

	Work *mcp.TaskWork `json:"work,omitzero"` // until it has ended

	Owner      string `json:"owner,omitzero"` // the worker that has begun it; empty while it waits
	Fence      int    `json:"fence,omitzero"` // how often it was begun
	Lost       int    `json:"lost,omitzero"`  // how often its owner was lost
	Cancelling bool   `json:"cancelling,omitzero"`

	Pending map[string]question `json:"pending,omitempty"` // what the client is asked, by the key that it sees
	Issued  map[string]int      `json:"issued,omitempty"`  // how often each input request was asked
	Parked  string              `json:"parked,omitzero"`   // where its message is, while it waits for the client

	Result jsontext.Value `json:"result,omitzero"`
	Error  *jsonrpc.Error `json:"error,omitzero"`
}

// A question is an input request that the client has not answered.
type question struct {
	ID      string         `json:"id"` // the handler's
	Request jsontext.Value `json:"request"`
}

// newID returns an id that nobody can guess: it has 130 random bits.
func newID() string { return rand.Text() }

// newRecord returns the record of a task that waits to be begun.
func newRecord(w *mcp.TaskWork, now time.Time, ttl time.Duration) *record {
	now = now.UTC().Truncate(time.Millisecond)
	return &record{
		ID: newID(), Principal: w.Principal, Status: mcp.TaskWorking, Work: w,
		Created: now, Updated: now, Expires: now.Add(ttl),
	}
}

func parseRecord(raw []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("read the record of a task: %w", err)
	}
	if r.Work == nil && !r.Status.Terminal() {
		return nil, fmt.Errorf("the record of task %q has no work", r.ID)
	}
	return &r, nil
}

func (r *record) encode() ([]byte, error) {
	raw, err := jsonrpc.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the record of a task: %w", err)
	}
	return raw, nil
}

// clone returns a copy that can be changed without changing r. What hangs on it
// is replaced, never changed, but for the maps.
func (r *record) clone() *record {
	c := *r
	c.Pending, c.Issued = maps.Clone(r.Pending), maps.Clone(r.Issued)
	if r.Work != nil {
		work := *r.Work
		work.Answers = maps.Clone(work.Answers)
		c.Work = &work
	}
	return &c
}

// view is what the client sees.
func (r *record) view(now time.Time) mcp.Task {
	t := mcp.Task{
		ID: r.ID, Status: r.Status, StatusMessage: r.Message,
		CreatedAt: r.Created, LastUpdatedAt: r.Updated, TTLMs: r.Expires.Sub(r.Created).Milliseconds(),
		Result: r.Result, Error: r.Error,
	}
	if !r.Status.Terminal() {
		t.PollIntervalMs = pollInterval(now.Sub(r.Created)).Milliseconds()
	}
	if r.Status == mcp.TaskInputRequired {
		t.InputRequests = make(map[string]jsontext.Value, len(r.Pending))
		for key, q := range r.Pending {
			t.InputRequests[key] = q.Request
		}
	}
	return t
}

// pollInterval is longer for a task that has been running for longer.
func pollInterval(age time.Duration) time.Duration {
	return min(max(age/10, 250*time.Millisecond), 5*time.Second).Truncate(time.Millisecond)
}

// heldBy tells whether worker may write, which has begun the task as the fence'th.
func (r *record) heldBy(worker string, fence int) bool {
	return r.Owner == worker && r.Fence == fence && !r.Status.Terminal()
}

// begin makes worker the owner.
func (r *record) begin(worker string) {
	r.Owner, r.Parked = worker, ""
	r.Fence++
}

// release lets the task wait again, to be begun by any worker.
func (r *record) release() { r.Owner = "" }

// ask makes the task wait for the client's answers to requests, which are by the
// ids that the handler knows them by. The client sees keys that no request of the
// task has had before.
//
// Spec: Tasks extension, Task Update Requests.
func (r *record) ask(out *mcp.TaskOutcome, parked string) {
	r.release()
	r.Work.Answers, r.Work.State = out.Answered, out.State
	r.Pending = make(map[string]question, len(out.Ask))
	if r.Issued == nil {
		r.Issued = make(map[string]int)
	}
	for _, id := range slices.Sorted(maps.Keys(out.Ask)) {
		r.Pending[r.issue(id)] = question{ID: id, Request: out.Ask[id]}
	}
	r.Parked = parked
	if len(r.Pending) > 0 {
		r.Status = mcp.TaskInputRequired
	}
}

// issue returns a new key for the input request id. The number is in front of it,
// so that no id can be taken for the key of another.
func (r *record) issue(id string) string {
	r.Issued[id]++
	if n := r.Issued[id]; n > 1 {
		return fmt.Sprintf("%d:%s", n, id)
	}
	if id != "" && '0' <= id[0] && id[0] <= '9' {
		return "1:" + id
	}
	return id
}

// answer takes the client's answers to what is pending, and ignores all others.
// It tells whether there were any.
func (r *record) answer(responses mcp.InputResponses) bool {
	taken := false
	for key, response := range responses {
		q, ok := r.Pending[key]
		if !ok || r.Status != mcp.TaskInputRequired {
			continue
		}
		if r.Work.Answers == nil {
			r.Work.Answers = make(mcp.InputResponses)
		}
		r.Work.Answers[q.ID] = response
		delete(r.Pending, key)
		taken = true
	}
	if taken && len(r.Pending) == 0 {
		r.Status, r.Pending = mcp.TaskWorking, nil
	}
	return taken
}

// end makes the state a terminal one, and keeps the record for retention.
func (r *record) end(status mcp.TaskStatus, now time.Time, retention time.Duration) {
	r.Status = status
	r.Work, r.Pending, r.Issued, r.Parked = nil, nil, nil, ""
	r.Expires = now.UTC().Truncate(time.Millisecond).Add(retention)
}

// complete ends the task with what its call is answered.
func (r *record) complete(result jsontext.Value, now time.Time, retention time.Duration) {
	r.end(mcp.TaskCompleted, now, retention)
	r.Result = result
}

// fail ends the task with an error of the protocol.
func (r *record) fail(err *jsonrpc.Error, now time.Time, retention time.Duration) {
	r.end(mcp.TaskFailed, now, retention)
	r.Error, r.Message = err, err.Message
}

// cancel ends the task if nobody has begun it, and else notes that its owner
// should. It tells whether there was anything to change.
func (r *record) cancel(now time.Time, retention time.Duration) bool {
	switch {
	case r.Status.Terminal(), r.Cancelling:
		return false
	case r.Owner == "":
		r.end(mcp.TaskCancelled, now, retention)
	default:
		r.Cancelling = true
	}
	return true
}
