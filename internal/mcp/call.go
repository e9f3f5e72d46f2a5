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
	Events         func(Event)        // takes what Publish publishes; nil takes nothing

	answered []string // ids of the input requests whose answers Input has accepted
	progress progress
	logs     logs
}

// NewCall returns the call for req. notify takes its notifications.
func NewCall(req *Request, notify NotifyFunc) (*Call, *jsonrpc.Error) {
	inputs, err := ParseInputResponses(req.Params.InputResponses)
	if err != nil {
		return nil, err
	}
	state, ok := Text(req.Params.RequestState)
	if !ok && !IsAbsent(req.Params.RequestState) {
		return nil, InvalidParams("requestState must be a string")
	}
	return &Call{
		Principal:      req.Principal,
		Capabilities:   req.Meta.Capabilities,
		InputResponses: inputs,
		RequestState:   state,
		progress:       progress{token: req.Meta.ProgressToken, notify: notify, last: math.Inf(-1)},
		logs:           logs{least: req.Meta.LogLevel, notify: notify},
	}, nil
}

// Progress tells the client how far the work is. total is 0 when unknown, and
// message may be empty. A value that is not above the last one is dropped, as
// is every call when the client gave no progress token or has its response. In
// a task it becomes the status message.
//
// Spec: MCP 2026-07-28, Progress.
func (c *Call) Progress(done, total float64, message string) { c.progress.report(done, total, message) }

// Publish tells all clients that listen for e, whatever server they are
// connected to. They are told at most once, and it may be before the response
// to this request.
//
// Spec: MCP 2026-07-28, Subscriptions.
func (c *Call) Publish(e Event) {
	if c.Events != nil {
		c.Events(e)
	}
}

// Detach stops all further notifications, as the call has become a task: from now
// on report takes its progress.
func (c *Call) Detach(report func(message string)) {
	c.progress.divert(report)
	c.logs.end()
}

// End stops all further notifications. The dispatcher calls it before it sends
// the response.
func (c *Call) End() {
	c.progress.end()
	c.logs.end()
}

type progress struct {
	token  jsontext.Value
	notify NotifyFunc

	mu       sync.Mutex // guards what follows, and keeps notifications in order
	last     float64
	over     bool
	diverted func(message string) // takes it instead of notify, in a task
}

func (p *progress) report(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || done <= p.last {
		return
	}
	if p.diverted != nil {
		p.last = done
		p.diverted(progressMessage(done, total, message))
		return
	}
	if p.token == nil || p.notify == nil {
		return
	}
	params, err := jsonrpc.Marshal(progressParams{Token: p.token, Progress: done, Total: total, Message: message})
	if err != nil {
		return // only a number that is not finite
	}
	p.last = done
	p.notify(jsonrpc.AppendNotification(nil, NotificationProgress, params))
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

func (p *progress) divert(report func(message string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.diverted = report
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

type progressParams struct {
	Token    jsontext.Value `json:"progressToken"`
	Progress float64        `json:"progress"`
	Total    float64        `json:"total,omitzero"`
	Message  string         `json:"message,omitzero"`
}
