package main

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// request encodes what is known of a request or notification once it is parsed.
func request(example []byte) ([]byte, error) {
	req, refusal := mcp.ParseRequest(example)
	if refusal != nil {
		return nil, refusal
	}
	p := req.Params
	params := map[string]any{}
	for name, value := range map[string]jsontext.Value{
		"name": p.Name, "uri": p.URI, "cursor": p.Cursor, "arguments": p.Arguments, "requestId": p.RequestID, "ref": p.Ref,
		"argument": p.Argument, "context": p.Context, "notifications": p.Notifications,
	} {
		if value != nil {
			params[name] = value
		}
	}
	if req.IsNotification() {
		return jsonrpc.Marshal(map[string]any{"jsonrpc": jsonrpc.Version, "method": req.Method, "params": params})
	}
	meta := map[string]any{"io.modelcontextprotocol/clientCapabilities": capabilities(req.Meta.Capabilities)}
	if req.Meta.ProtocolVersion != "" {
		meta["io.modelcontextprotocol/protocolVersion"] = req.Meta.ProtocolVersion
	}
	if req.Meta.ProgressToken != nil {
		meta["progressToken"] = req.Meta.ProgressToken
	}
	params["_meta"] = meta
	return jsonrpc.Marshal(map[string]any{"jsonrpc": jsonrpc.Version, "id": jsontext.Value(req.ID), "method": req.Method, "params": params})
}

// capabilities writes capabilities in their shortest form.
func capabilities(c mcp.ClientCapabilities) map[string]map[string]struct{} {
	all := map[string]map[string]struct{}{}
	declare := func(declared bool, name string, with map[string]bool) {
		if declared {
			maps.DeleteFunc(with, func(_ string, also bool) bool { return !also })
			all[name] = map[string]struct{}{}
			for sub := range with {
				all[name][sub] = struct{}{}
			}
		}
	}
	declare(c.ElicitationForm || c.ElicitationURL, "elicitation", map[string]bool{"form": c.ElicitationForm && c.ElicitationURL, "url": c.ElicitationURL})
	declare(c.Sampling, "sampling", map[string]bool{"tools": c.SamplingTools})
	declare(c.Roots, "roots", nil)
	return all
}

// A result is a T with the members that the dispatcher adds to results.
type result[T any] struct {
	ResultType string         `json:"resultType"`
	Own        T              `json:",embed"`
	NextCursor string         `json:"nextCursor,omitzero"`
	TTL        jsontext.Value `json:"ttlMs,omitzero"`
	CacheScope string         `json:"cacheScope,omitzero"`
	Meta       *struct {
		Server mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
	} `json:"_meta,omitzero"`
}

// An envelope is a response.
type envelope struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  jsontext.Value `json:"result"`
	Error   *jsonrpc.Error `json:"error"`
}

func response(result codec) codec {
	return func(example []byte) ([]byte, error) {
		var e envelope
		if err := decode(example, &e); err != nil {
			return nil, err
		}
		encoded, err := result(e.Result)
		return jsonrpc.AppendResult(nil, jsonrpc.ID(e.ID), encoded), err
	}
}

func failure(example []byte) ([]byte, error) {
	var e envelope
	err := decode(example, &e)
	return mcp.ErrorResponse(jsonrpc.ID(e.ID), e.Error).Body, err
}

// sent returns the notification that a handler sends for a request with those
// members of _meta.
func sent(meta string, send func(*mcp.Call)) (notification []byte, err error) {
	req, refusal := mcp.ParseRequest(fmt.Appendf(nil, message(`"id":1,`, mcp.MethodToolsCall), `{"_meta":{`+meta+`}}`))
	if refusal != nil {
		return nil, refusal
	}
	call, refusal := mcp.NewCall(req, mcp.CallConfig{Logs: true, Notify: func(n []byte) { notification = n }})
	if refusal != nil {
		return nil, refusal
	}
	send(call)
	return notification, nil
}

func progress(example []byte) ([]byte, error) {
	var n struct {
		Params struct {
			Token    jsontext.Value `json:"progressToken"`
			Progress float64        `json:"progress"`
			Total    float64        `json:"total"`
			Message  string         `json:"message"`
		} `json:"params"`
	}
	if err := json.Unmarshal(example, &n); err != nil {
		return nil, err
	}
	p := n.Params
	return sent(`"progressToken":`+string(p.Token), func(c *mcp.Call) { c.Progress(p.Progress, p.Total, p.Message) })
}

func logMessage(example []byte) ([]byte, error) {
	var n struct {
		Params struct {
			Level  string         `json:"level"`
			Logger string         `json:"logger"`
			Data   jsontext.Value `json:"data"`
		} `json:"params"`
	}
	if err := json.Unmarshal(example, &n); err != nil {
		return nil, err
	}
	return sent(fmt.Sprintf(`"io.modelcontextprotocol/logLevel":%q`, n.Params.Level), func(c *mcp.Call) {
		for level := mcp.LogDebug; level <= mcp.LogEmergency; level++ {
			if level.String() == n.Params.Level {
				c.Log(level, n.Params.Logger, n.Params.Data)
			}
		}
	})
}

// subscribed has what is looked for in messages of subscriptions.
type subscribed struct {
	ID     jsontext.Value `json:"id"`
	Params struct {
		Notifications jsontext.Value `json:"notifications"`
		Meta          struct {
			Subscription jsontext.Value `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	} `json:"params"`
}

func event(example []byte) ([]byte, error) {
	var s subscribed
	e, ok := mcp.ParseEvent(example)
	if err := json.Unmarshal(example, &s); err != nil || !ok {
		return nil, fmt.Errorf("is no event: %w", err)
	}
	if s.Params.Meta.Subscription == nil {
		return e.Notification(), nil
	}
	return e.ForSubscriptions().For(jsonrpc.ID(s.Params.Meta.Subscription)), nil
}

func acknowledged(example []byte) ([]byte, error) {
	var s subscribed
	if err := json.Unmarshal(example, &s); err != nil {
		return nil, err
	}
	filter, refusal := mcp.ParseSubscriptionFilter(s.Params.Notifications)
	if refusal != nil {
		return nil, refusal
	}
	return mcp.SubscriptionAcknowledged(filter).For(jsonrpc.ID(s.Params.Meta.Subscription)), nil
}

func subscriptionEnded(example []byte) ([]byte, error) {
	var s subscribed
	err := json.Unmarshal(example, &s)
	return mcp.SubscriptionEnded(jsonrpc.ID(s.ID), nil).Body, err
}
