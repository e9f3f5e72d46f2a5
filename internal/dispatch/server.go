package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A Server is the contract profile as a library: tools are registered with a
// function each, and HandleRequest answers requests in memory. It behaves as a
// Dispatcher of the same tools does. All methods are safe for concurrent use.
type Server struct {
	log     *slog.Logger
	current atomic.Pointer[Dispatcher]

	mu    sync.Mutex // guards tools; requests only look at current
	tools []*tool    // by name
}

// NewServer returns a server without tools. log takes panics and the causes of
// internal errors.
func NewServer(log *slog.Logger) *Server {
	s := &Server{log: log}
	s.serve(nil)
	return s
}

// A ToolFunc runs a tool. arguments have been validated, and their numbers are
// values of encoding/json's Number; inputs has the answers to an InputRequired.
// What it returns is what mcp.ServerTool says of Run. It is called concurrently.
type ToolFunc func(ctx context.Context, arguments map[string]any, inputs mcp.InputResponses) (any, error)

// RegisterTool adds a tool, which requests see as soon as it returns. schema is
// the JSON Schema of the arguments: a jsontext.Value, or any value whose JSON
// form it is. A name that is taken, a schema that is not valid and a nil handler
// are errors, and change nothing.
func (s *Server) RegisterTool(name, description string, schema any, handler ToolFunc) error {
	definition := mcp.ServerTool{Tool: mcp.Tool{Name: name, Description: description}}
	encoded, err := jsonrpc.Marshal(schema)
	if err != nil {
		return fmt.Errorf("tool %q: encode input schema: %w", name, err)
	}
	definition.InputSchema = encoded
	if handler != nil {
		definition.Run = func(ctx context.Context, call *mcp.ToolCall) (any, error) {
			return handler(ctx, call.Values, call.InputResponses)
		}
	}
	t, err := newTool(definition)
	if err != nil {
		return err
	}
	return s.add(t)
}

func (s *Server) add(t *tool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tools := append(slices.Clone(s.tools), t)
	if err := sortByKey("tool", tools); err != nil {
		return err
	}
	s.serve(tools)
	return nil
}

// serve makes tools the catalogue of requests to come.
func (s *Server) serve(tools []*tool) {
	s.tools = tools
	s.current.Store(newDispatcher(&catalogue{tools: tools, pageSize: DefaultPageSize}, Config{}, s.log))
}

// HandleRequest answers request, one JSON-RPC message, and does not keep it. The
// response to what is no valid request is an error. A notification has no
// response: it is nil. Nobody is told of the progress of a tool.
func (s *Server) HandleRequest(ctx context.Context, request []byte) (response []byte) {
	req, refusal := mcp.ParseRequest(request)
	if refusal != nil {
		return mcp.ErrorResponse(req.ID, refusal).Body
	}
	if req.IsNotification() {
		return nil
	}
	req.Profile = mcp.Contract
	return s.current.Load().Handle(ctx, req, nil).Body
}
