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
// about.
const MaxResourceSubscriptions = 256

// A SubscriptionFilter says which events a subscription is about.
//
// Spec: MCP 2026-07-28, Subscriptions, Notification Filter.
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitzero"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitzero"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitzero"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitempty"` // URIs, each once
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
	uris, err := parseSubscribedURIs(members["resourceSubscriptions"])
	f.ResourceSubscriptions = uris
	return f, err
}

func parseSubscribedURIs(raw jsontext.Value) ([]string, *jsonrpc.Error) {
	var elements []jsontext.Value
	switch {
	case IsAbsent(raw):
		return nil, nil
	case json.Unmarshal(raw, &elements) != nil:
		return nil, InvalidParams("notifications.resourceSubscriptions must be a list of URIs")
	case len(elements) > MaxResourceSubscriptions:
		return nil, InvalidParams("notifications.resourceSubscriptions has %d URIs, at most %d are allowed", len(elements), MaxResourceSubscriptions)
	}
	uris := make([]string, 0, len(elements))
	for _, element := range elements {
		uri, ok := Text(element)
		if !ok || uri == "" {
			return nil, InvalidParams("notifications.resourceSubscriptions must be a list of URIs")
		}
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	return slices.Compact(uris), nil
}

// Honoured is the part of f that a server with those capabilities sends events
// for.
func (f SubscriptionFilter) Honoured(c ServerCapabilities) SubscriptionFilter {
	f.ToolsListChanged = f.ToolsListChanged && c.Tools != nil && c.Tools.ListChanged
	f.PromptsListChanged = f.PromptsListChanged && c.Prompts != nil && c.Prompts.ListChanged
	f.ResourcesListChanged = f.ResourcesListChanged && c.Resources != nil && c.Resources.ListChanged
	if c.Resources == nil || !c.Resources.Subscribe {
		f.ResourceSubscriptions = nil
	}
	return f
}

// Events returns all events that f selects, each once.
func (f SubscriptionFilter) Events() []Event {
	events := make([]Event, 0, 3+len(f.ResourceSubscriptions))
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
