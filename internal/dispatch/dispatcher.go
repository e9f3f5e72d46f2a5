// Package dispatch answers requests: it holds the method table of both
// profiles, the catalogue of tools, prompts and resources, and the rules that
// all of them share, such as validating arguments, paging lists and turning Go
// errors into errors of the protocol.
//
// It does no I/O of its own and keeps nothing between requests, so any number
// of dispatchers with the same toolsets answer alike. Transports and the bus
// plug into Dispatcher, an mcp.Handler; Server is the contract profile as a
// library. Start at New.
package dispatch

import (
	"context"
	"log/slog"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/seal"
)

// Config says what a Dispatcher serves.
type Config struct {
	Server       mcp.Implementation // named in the _meta of every result of the strict profile
	Instructions string             // for the model, before those of the toolsets; may be empty
	Toolsets     []mcp.Toolset      // their order has no influence on any response
	Keys         *seal.Keyring      // seal requestState; nil: no handler may have state
	Events       func(mcp.Event)    // takes the events of handlers, concurrently; nil: there are none to listen for
	Tasks        Tasks              // what calls become that may be tasks; nil: none does, and tools that only run so are not served
	PageSize     int                // most entries on a page of a list; 0 means DefaultPageSize

	// Cache says how long and for whom clients may keep what only a new
	// deployment changes: discovery and the lists of tools, prompts and resource
	// templates. Nil means five minutes, for everybody.
	Cache *mcp.Cache
}

// A Dispatcher is the mcp.Handler that runs tools, prompts and resources. It is
// immutable and safe for concurrent use.
type Dispatcher struct {
	log       *slog.Logger
	keys      *seal.Keyring
	events    func(mcp.Event)
	tasks     Tasks
	catalogue *catalogue
	digest    string
	stamp     stamp

	tools     map[string]*tool
	prompts   map[string]*prompt
	templates map[string]*template

	strict, contract map[string]method
}

var _ mcp.Handler = (*Dispatcher)(nil)

// A method answers the requests of one JSON-RPC method. Its error goes through
// Dispatcher.wireError.
type method func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) (result, error)

// New returns the dispatcher for cfg, or all that is wrong with cfg, each
// problem with the name of the tool, prompt or template that has it. log takes
// panics and the causes of internal errors, which no client is told.
func New(cfg Config, log *slog.Logger) (*Dispatcher, error) {
	c, err := newCatalogue(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Tasks == nil {
		c.withoutTasks(log)
	}
	return newDispatcher(c, cfg, log), nil
}

// newDispatcher serves c, and takes from cfg only what c has not. A family of which
// there is nothing has no methods in the strict profile; the contract always has
// tools, if only none.
func newDispatcher(c *catalogue, cfg Config, log *slog.Logger) *Dispatcher {
	d := &Dispatcher{
		log:       log,
		keys:      cfg.Keys,
		events:    cfg.Events,
		tasks:     cfg.Tasks,
		catalogue: c,
		digest:    c.digest(),
		stamp:     newStamp(c.server),

		tools:     byKey(c.tools),
		prompts:   byKey(c.prompts),
		templates: byKey(c.templates),

		strict:   map[string]method{},
		contract: map[string]method{},
	}
	declared := c.capabilities(cfg)
	d.addDiscover(declared)
	d.addTools()
	d.addPrompts()
	d.addResources()
	d.addCompletion()
	d.addTasks()
	d.addSubscriptions(declared)
	return d
}

// Handle answers one request. What is not a request of the profile is refused
// before anything of the catalogue is looked at.
func (d *Dispatcher) Handle(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	res, err := d.run(ctx, req, notify)
	if err != nil {
		return mcp.ErrorResponse(req.ID, d.wireError(ctx, req, err))
	}
	return d.stamp.response(req, res)
}

func (d *Dispatcher) run(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) (result, error) {
	method, refusal := d.admit(req)
	if refusal != nil {
		return result{}, refusal
	}
	return method(ctx, req, notify)
}

// admit finds the method that answers req. The handshake of earlier revisions
// comes first: its clients know nothing of _meta, and the error tells them why
// they are refused.
//
// Spec: MCP 2026-07-28, Versioning, Backward Compatibility.
func (d *Dispatcher) admit(req *mcp.Request) (method, *jsonrpc.Error) {
	if req.Method == mcp.MethodInitialize {
		return nil, mcp.MethodNotFound(req.Method)
	}
	methods := d.contract
	if req.Profile == mcp.Strict {
		methods = d.strict
		if refusal := req.ValidateMeta(); refusal != nil {
			return nil, refusal
		}
	}
	if refusal := req.ValidateVersion(); refusal != nil {
		return nil, refusal
	}
	method, ok := methods[req.Method]
	if !ok {
		return nil, mcp.MethodNotFound(req.Method)
	}
	return method, nil
}
