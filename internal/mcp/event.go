package mcp

import "github.com/mcpyard/mcpyard/internal/jsonrpc"

// An Event is a change that clients may listen for: of a list, of what one
// resource holds, or of the state of a task. Equal events say the same thing, so that one which has not
// been sent yet stands for those after it. Events are comparable.
//
// Spec: MCP 2026-07-28, Subscriptions.
type Event struct {
	Method string // of the notification that tells of it
	URI    string // of the resource; empty when it is about something else
	TaskID string // of the task; empty when it is about something else
}

// ToolsListChanged says that tools have come, gone or changed.
func ToolsListChanged() Event { return Event{Method: NotificationToolsListChanged} }

// PromptsListChanged says that prompts have come, gone or changed.
func PromptsListChanged() Event { return Event{Method: NotificationPromptsListChanged} }

// ResourcesListChanged says that resources have come or gone.
func ResourcesListChanged() Event { return Event{Method: NotificationResourcesListChanged} }

// ResourceUpdated says that reading the resource uri gives something else than
// before, which may be that there is no such resource any more.
func ResourceUpdated(uri string) Event { return Event{Method: NotificationResourceUpdated, URI: uri} }

// TaskChanged says that the state of a task is another than before. It does not
// say which: whoever may see the task asks for it.
//
// Spec: Tasks extension, Task Status Notifications.
func TaskChanged(id string) Event { return Event{Method: NotificationTasks, TaskID: id} }

// ParseEvent reads what Event.Notification has made. ok is false for anything
// that tells of no event of this revision.
func ParseEvent(notification []byte) (e Event, ok bool) {
	n, fault := ParseRequest(notification)
	if fault != nil || !n.IsNotification() {
		return Event{}, false
	}
	switch n.Method {
	case NotificationToolsListChanged, NotificationPromptsListChanged, NotificationResourcesListChanged:
		return Event{Method: n.Method}, true
	case NotificationResourceUpdated:
		uri, ok := Text(n.Params.URI)
		return ResourceUpdated(uri), ok && uri != ""
	case NotificationTasks:
		id, ok := Text(n.Params.TaskID)
		return TaskChanged(id), ok && id != ""
	}
	return Event{}, false
}

// Notification encodes e as a notification that belongs to no subscription.
func (e Event) Notification() []byte { return jsonrpc.AppendNotification(nil, e.Method, e.params()) }

// ForSubscriptions encodes e as a notification of subscriptions.
func (e Event) ForSubscriptions() SubscriptionNotification {
	return newSubscriptionNotification(e.Method, e.params())
}

func (e Event) params() []byte {
	params, _ := jsonrpc.Marshal(struct { // a string always has a JSON form
		URI    string `json:"uri,omitzero"`
		TaskID string `json:"taskId,omitzero"`
	}{e.URI, e.TaskID})
	return params
}
