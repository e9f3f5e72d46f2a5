package mcp

import (
	"fmt"
	"math"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// A Call is what the handler of a tool, prompt or resource knows of the request
// it answers. It is valid until the handler returns; its methods may be called
// by several goroutines of the handler.
type Call struct {
	Principal      string             // the authenticated caller, empty without authentication
	Capabilities   ClientCapabilities // what the client declared on this request
	InputResponses InputResponses     // answers to an InputRequired, by id
	RequestState   string             // what the handler had put into InputRequired.State

	answered []string // ids of the input requests whose answers Input has accepted
	publish  func(Event)
	out      outlet
	progress progress
	logs     logs
}

// A CallConfig is what a call knows beside the request. The zero CallConfig is
// that of a first round whose handler nobody hears.
type CallConfig struct {
	Notify NotifyFunc  // sends its notifications
	Events func(Event) // takes what Publish publishes
	Logs   bool        // the server has declared that it logs, so that Log may send

	// What the last round of the request has left:

	Answers InputResponses // accepted ones, behind those that come with the request
	State   string         // of the InputRequired
}

// NewCall returns the call for req.
func NewCall(req *Request, cfg CallConfig) (*Call, *jsonrpc.Error) {
	inputs, err := ParseInputResponses(req.Params.InputResponses)
	if err != nil {
		return nil, err
	}
	call := &Call{
		Principal:      req.Principal,
		Capabilities:   req.Meta.Capabilities,
		InputResponses: inputs.or(cfg.Answers),
		RequestState:   cfg.State,
		publish:        cfg.Events,
		out:            outlet{notify: cfg.Notify},
		progress:       progress{token: req.Meta.ProgressToken, last: math.Inf(-1)},
	}
	if cfg.Logs {
		call.logs.least = req.Meta.LogLevel
	}
	return call, nil
}

// Progress tells the client how far the work is. total is 0 when unknown, and
// message may be empty. A value that is not above the last one is dropped, as
// is every call when the client gave no progress token or has its response. In
// a task it becomes the status message.
//
// Spec: MCP 2026-07-28, Progress.
func (c *Call) Progress(done, total float64, message string) {
	c.out.do(func() { c.progress.report(c.out.notify, done, total, message) })
}

// Publish tells all clients that listen for e, whatever server they are
// connected to. They are told at most once, and it may be before the response
// to this request.
//
// Spec: MCP 2026-07-28, Subscriptions.
func (c *Call) Publish(e Event) {
	if c.publish != nil {
		c.publish(e)
	}
}

// Detach stops all further notifications, as the call has become a task: from now
// on report takes its progress.
func (c *Call) Detach(report func(message string)) {
	c.out.do(func() { c.out.notify, c.progress.diverted = nil, report })
}

// End stops all further notifications. The dispatcher calls it before it sends
// the response.
func (c *Call) End() { c.out.do(func() { c.out.over = true }) }

// An outlet is where the notifications of one call go out, one after the other.
type outlet struct {
	mu     sync.Mutex // held by do
	over   bool
	notify NotifyFunc // nil when nobody listens
}

// do calls f, which may use the outlet and all that goes out by it, unless the call
// is over.
func (o *outlet) do(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		f()
	}
}

type progress struct {
	token    jsontext.Value // nil if the client wants no progress
	last     float64
	diverted func(message string) // takes it instead, in a task
}

func (p *progress) report(notify NotifyFunc, done, total float64, message string) {
	switch {
	case done <= p.last:
	case p.diverted != nil:
		p.last = done
		p.diverted(progressMessage(done, total, message))
	case p.token != nil && notify != nil:
		params, err := jsonrpc.Marshal(progressParams{Token: p.token, Progress: done, Total: total, Message: message})
		if err != nil {
			return // only a number that is not finite
		}
		p.last = done
		notify(jsonrpc.AppendNotification(nil, NotificationProgress, params))
	}
}

// progressMessage says in words what a progress notification says.
func progressMessage(done, total float64, message string) string {
	switch {
	case message != "":
		return message
	case total > 0:
		return fmt.Sprintf("%g of %g", done, total)
	}
	return fmt.Sprintf("%g done", done)
}

type progressParams struct {
	Token    jsontext.Value `json:"progressToken"`
	Progress float64        `json:"progress"`
	Total    float64        `json:"total,omitzero"`
	Message  string         `json:"message,omitzero"`
}
