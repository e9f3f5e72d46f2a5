package mcp

import (
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// ExtensionTasks is the identifier of the tasks extension: tool calls that are
// answered with a handle, and whose result the client fetches later.
//
// Spec: Tasks extension.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// A TaskMode says what a tool's calls become for clients that support tasks, and
// what it means that a client does not.
type TaskMode int

// The modes.
const (
	TaskNever    TaskMode = iota // calls are always answered with their result
	TaskOptional                 // a task for clients that support tasks, else answered with the result
	TaskRequired                 // only for clients that support tasks
)

// A TaskPolicy says whether calls of a tool become tasks. The zero policy is that
// they never do.
type TaskPolicy struct {
	Mode TaskMode

	// After is how long a call has to answer with its result before it becomes a
	// task, without being started again. Zero: it becomes one before it starts,
	// so that it waits in the queue of tasks and survives the process that took
	// the request. One that is already running when it becomes a task ends with
	// the process that runs it, unless the tool reads only or is idempotent.
	After time.Duration
}

// A TaskStatus is the state of a task.
//
// Spec: Tasks extension, Task Status.
type TaskStatus string

// The states. The last three are terminal: they never change.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Terminal tells whether the state never changes any more.
func (s TaskStatus) Terminal() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// A Task is what its client sees of a task. Which of the last three members it
// has depends on its state.
//
// Spec: Tasks extension, Tasks.
type Task struct {
	ID             string                    `json:"taskId"`
	Status         TaskStatus                `json:"status"`
	StatusMessage  string                    `json:"statusMessage,omitzero"`
	CreatedAt      time.Time                 `json:"createdAt"`
	LastUpdatedAt  time.Time                 `json:"lastUpdatedAt"`
	TTLMs          int64                     `json:"ttlMs"`
	PollIntervalMs int64                     `json:"pollIntervalMs,omitzero"`
	InputRequests  map[string]jsontext.Value `json:"inputRequests,omitempty"`
	Result         jsontext.Value            `json:"result,omitzero"`
	Error          *jsonrpc.Error            `json:"error,omitzero"`
}

// A TaskWork is a tool call that is run later, or again, maybe by another
// process: all that its handler is given.
type TaskWork struct {
	Tool         string             `json:"tool"`
	Arguments    jsontext.Value     `json:"arguments"`
	Principal    string             `json:"principal,omitzero"`
	Capabilities ClientCapabilities `json:"capabilities"`
	Answers      InputResponses     `json:"answers,omitempty"` // to its input requests, by their ids
	State        string             `json:"state,omitzero"`    // what its handler has put into InputRequired.State
	// Idempotent says that it may be run again without a trace of the first run.
	Idempotent bool `json:"idempotent,omitzero"`
}

// A TaskOutcome is how a run of a TaskWork has ended. Exactly one of the first
// three members is there.
type TaskOutcome struct {
	Result jsontext.Value            // the result of the call, maybe a tool error
	Err    *jsonrpc.Error            // the call failed by the protocol
	Ask    map[string]jsontext.Value // it asks the client for input: requests by their ids

	IsError  bool           // Result is a tool error
	Answered InputResponses // with Ask: answers that must not get lost
	State    string         // with Ask: what the handler wants back
}

// An AdoptedTask is a call that has become a task while it was running.
type AdoptedTask struct {
	Task   Task
	Report func(message string) // takes the handler's progress
	// Finish must be called once, when the handler has returned. cause is why its
	// context had ended, nil if it had not.
	Finish func(out TaskOutcome, cause error)
}

// NewTaskCall returns the call for a run of w. report takes its progress, and events
// what it publishes; log messages have no place to go.
func NewTaskCall(w *TaskWork, report func(message string), events func(Event)) *Call {
	return &Call{
		Principal:      w.Principal,
		Capabilities:   w.Capabilities,
		InputResponses: w.Answers,
		RequestState:   w.State,
		publish:        events,
		progress:       progress{last: math.Inf(-1), diverted: report},
	}
}

// MissingTasks is the error for a request that only a client which supports tasks
// can send.
func MissingTasks() *jsonrpc.Error {
	return requirements{"extensions": {ExtensionTasks: {}}}.err()
}

// TaskNotFound is the error for a task that does not exist, or not for this
// principal.
//
// Spec: Tasks extension, Protocol Errors.
func TaskNotFound() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Task not found: it has never existed, or it has expired")
}

// TaskRequest returns the request for the state of a task that a server makes of
// its own accord, on behalf of the principal of req.
func TaskRequest(req *Request, taskID string) *Request {
	id, _ := jsonrpc.Marshal(taskID) // a string always has a JSON form
	own, _ := ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + MethodTasksGet + `","params":{"taskId":` + string(id) +
		`,"_meta":{"` + metaProtocolVersion + `":"` + Version + `","` + metaClientCapabilities + `":{"extensions":{"` + ExtensionTasks + `":{}}}}}}`))
	own.Profile, own.Pool, own.Principal = req.Profile, req.Pool, req.Principal
	return own
}

// TaskNotification makes of the response to a TaskRequest the notification of
// subscriptions that says the same. ok is false if the response is an error, as
// it is for a task that is gone.
//
// Spec: Tasks extension, Task Status Notifications.
func TaskNotification(response []byte) (n SubscriptionNotification, ok bool) {
	var r struct {
		Result Task           `json:"result"`
		Error  jsontext.Value `json:"error"`
	}
	if err := json.Unmarshal(response, &r); err != nil || r.Error != nil || r.Result.ID == "" {
		return SubscriptionNotification{}, false
	}
	params, err := jsonrpc.Marshal(r.Result)
	if err != nil {
		return SubscriptionNotification{}, false
	}
	return newSubscriptionNotification(NotificationTasks, params), true
}
