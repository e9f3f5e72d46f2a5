package mcp

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// MetaSubscriptionID is the key in the _meta of every message of a subscription
// under which stands the id of the request that opened it.
const MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"

// MaxResourceSubscriptions is the most resources that one subscription may be
// about, and MaxTaskSubscriptions the most tasks.
const (
	MaxResourceSubscriptions = 256
	MaxTaskSubscriptions     = 256
)

// A SubscriptionFilter says which events a subscription is about.
//
// Spec: MCP 2026-07-28, Subscriptions, Notification Filter.
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitzero"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitzero"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitzero"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"` // URIs, each once
	TaskIDs               []string `json:"taskIds,omitempty"`               // each once
}

// ParseSubscriptionFilter reads the member notifications of a request to listen
// or of the answer to one. Members that this revision does not define ask for
// what no server has, and are left out.
func ParseSubscriptionFilter(raw jsontext.Value) (SubscriptionFilter, *jsonrpc.Error) {
	var f SubscriptionFilter
	var members map[string]jsontext.Value
	if IsAbsent(raw) || json.Unmarshal(raw, &members) != nil {
		return f, InvalidParams("notifications must be an object")
	}
	for _, flag := range []struct {
		name string
		into *bool
	}{
		{"toolsListChanged", &f.ToolsListChanged},
		{"promptsListChanged", &f.PromptsListChanged},
		{"resourcesListChanged", &f.ResourcesListChanged},
	} {
		if value := members[flag.name]; !IsAbsent(value) && json.Unmarshal(value, flag.into) != nil {
			return SubscriptionFilter{}, InvalidParams("notifications.%s must be a boolean", flag.name)
		}
	}
	for _, list := range []struct {
		name, of string
		most     int
		into     *[]string
	}{
		{"resourceSubscriptions", "URIs", MaxResourceSubscriptions, &f.ResourceSubscriptions},
		{"taskIds", "ids", MaxTaskSubscriptions, &f.TaskIDs},
	} {
		texts, err := parseTexts(list.name, list.of, list.most, members[list.name])
		if err != nil {
			return SubscriptionFilter{}, err
		}
		*list.into = texts
	}
	return f, nil
}

// parseTexts reads a list in a filter, of which it returns each element once.
func parseTexts(name, of string, most int, raw jsontext.Value) ([]string, *jsonrpc.Error) {
	var elements []jsontext.Value
	switch {
	case IsAbsent(raw):
		return nil, nil
	case json.Unmarshal(raw, &elements) != nil:
		return nil, InvalidParams("notifications.%s must be a list of %s", name, of)
	case len(elements) > most:
		return nil, InvalidParams("notifications.%s has %d %s, at most %d are allowed", name, len(elements), of, most)
	}
	texts := make([]string, 0, len(elements))
	for _, element := range elements {
		text, ok := Text(element)
		if !ok || text == "" {
			return nil, InvalidParams("notifications.%s must be a list of %s", name, of)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

// Honoured is the part of f that a server with those capabilities sends events
// for. Which of the tasks it does for is not its to say.
func (f SubscriptionFilter) Honoured(c ServerCapabilities) SubscriptionFilter {
	f.ToolsListChanged = f.ToolsListChanged && c.Tools != nil && c.Tools.ListChanged
	f.PromptsListChanged = f.PromptsListChanged && c.Prompts != nil && c.Prompts.ListChanged
	f.ResourcesListChanged = f.ResourcesListChanged && c.Resources != nil && c.Resources.ListChanged
	if c.Resources == nil || !c.Resources.Subscribe {
		f.ResourceSubscriptions = nil
	}
	if _, has := c.Extensions[ExtensionTasks]; !has {
		f.TaskIDs = nil
	}
	return f
}

// Events returns all events that f selects, each once.
func (f SubscriptionFilter) Events() []Event {
	events := make([]Event, 0, 3+len(f.ResourceSubscriptions)+len(f.TaskIDs))
	if f.ToolsListChanged {
		events = append(events, ToolsListChanged())
	}
	if f.PromptsListChanged {
		events = append(events, PromptsListChanged())
	}
	if f.ResourcesListChanged {
		events = append(events, ResourcesListChanged())
	}
	for _, uri := range f.ResourceSubscriptions {
		events = append(events, ResourceUpdated(uri))
	}
	for _, id := range f.TaskIDs {
		events = append(events, TaskChanged(id))
	}
	return events
}

// A ListenResult is what the dispatcher answers to a request to listen: what of
// the filter the pool honours. It goes no further than the ingress, which holds
// the stream and makes of it the acknowledgement and, at the end, the response.
type ListenResult struct {
	Notifications SubscriptionFilter `json:"notifications"`
}

// ParseListenResult reads the response that carries a ListenResult, and what it
// says of the server, which is nil if that is nothing. ok is false when it is
// anything else.
func ParseListenResult(response []byte) (honoured SubscriptionFilter, server jsontext.Value, ok bool) {
	var r struct {
		Result struct {
			Notifications jsontext.Value            `json:"notifications"`
			Meta          map[string]jsontext.Value `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return SubscriptionFilter{}, nil, false
	}
	honoured, fault := ParseSubscriptionFilter(r.Result.Notifications)
	return honoured, r.Result.Meta[MetaServerInfo], fault == nil
}

// A SubscriptionNotification is a notification of any number of subscriptions,
// encoded but for the subscription's id. It is immutable.
type SubscriptionNotification struct {
	before, after []byte
}

// For returns the notification for the subscription that the request id opened.
func (n SubscriptionNotification) For(id jsonrpc.ID) []byte {
	message := make([]byte, 0, len(n.before)+len(id)+len(n.after))
	message = append(message, n.before...)
	message = append(message, id...)
	return append(message, n.after...)
}

// newSubscriptionNotification takes params as an encoded object.
func newSubscriptionNotification(method string, params []byte) SubscriptionNotification {
	message := jsonrpc.AppendNotification(nil, method, params)
	members := message[len(message)-len(params):] // of params, and the end of both objects
	opening := message[:len(message)-len(members)]
	n := SubscriptionNotification{
		before: append(slices.Clip(opening), `"_meta":{"`+MetaSubscriptionID+`":`...),
		after:  []byte(`}`),
	}
	if members[0] != '}' {
		n.after = append(n.after, ',')
	}
	n.after = append(n.after, members...)
	return n
}

// SubscriptionAcknowledged is the first message of a subscription.
//
// Spec: Subscriptions, Acknowledgment.
func SubscriptionAcknowledged(honoured SubscriptionFilter) SubscriptionNotification {
	params, _ := jsonrpc.Marshal(ListenResult{Notifications: honoured}) // booleans and strings always have a JSON form
	return newSubscriptionNotification(NotificationAcknowledged, params)
}

// SubscriptionCancelled tells, where streams share a channel, that the server
// has ended the subscription that the request id opened.
//
// Spec: Cancellation.
func SubscriptionCancelled(id jsonrpc.ID) []byte {
	params := append([]byte(`{"requestId":`), id...)
	return newSubscriptionNotification(NotificationCancelled, append(params, '}')).For(id)
}

// SubscriptionEnded is the response to the request id, which has listened until
// the server ended it. server names the server's software; nil leaves it out.
//
// Spec: Subscriptions, Graceful Closure.
func SubscriptionEnded(id jsonrpc.ID, server jsontext.Value) *Response {
	result := [][]byte{[]byte(`{"resultType":"complete","_meta":{"` + MetaSubscriptionID + `":`), []byte(id)}
	if server != nil {
		result = append(result, []byte(`,"`+MetaServerInfo+`":`), server)
	}
	return ResultResponse(id, append(result, []byte(`}}`))...)
}
