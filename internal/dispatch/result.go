package dispatch

import (
	"context"
	"fmt"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A result is what a method answers, without the members that every result of
// its kind has.
type result struct {
	object        []byte     // the result's own members, an encoded JSON object
	inputRequired bool       // it asks the client for input
	task          bool       // it is the handle of a task
	cache         *mcp.Cache // hints of a cacheable method, nil for the others
}

// A stamp adds those members, so that no method can forget them. They are text
// that is encoded once and goes in front of the members of each result.
//
// Spec: MCP 2026-07-28, Base Protocol, Results; Caching.
type stamp struct {
	discovery, complete, inputRequired, task []byte // strict openings: an object up to a comma
}

// contractInputRequired is the only opening of the contract profile: its other
// results are what their methods made.
const contractInputRequired = `{"resultType":"input_required",`

// newStamp has discovery say everything of server, and other results only what
// tells which it is: icons can be long.
func newStamp(server mcp.Implementation) stamp {
	all, _ := jsonrpc.Marshal(map[string]any{mcp.MetaServerInfo: server}) // strings always have a JSON form
	server.Description, server.WebsiteURL, server.Icons = "", "", nil
	info, _ := jsonrpc.Marshal(map[string]any{mcp.MetaServerInfo: server})
	return stamp{
		discovery:     fmt.Appendf(nil, `{"resultType":"complete","_meta":%s,`, all),
		complete:      fmt.Appendf(nil, `{"resultType":"complete","_meta":%s,`, info),
		inputRequired: fmt.Appendf(nil, contractInputRequired+`"_meta":%s,`, info),
		task:          fmt.Appendf(nil, `{"resultType":"task","_meta":%s,`, info),
	}
}

// response makes the response that carries r. The hints stay away from a result
// that asks for input, as that must not be cached.
func (s *stamp) response(req *mcp.Request, r result) *mcp.Response {
	members := r.object[1:]
	switch {
	case req.Profile == mcp.Contract && r.inputRequired:
		return mcp.ResultResponse(req.ID, []byte(contractInputRequired), members)
	case req.Profile == mcp.Contract:
		return mcp.ResultResponse(req.ID, r.object)
	case r.inputRequired:
		return mcp.ResultResponse(req.ID, s.inputRequired, members)
	case r.task:
		return mcp.ResultResponse(req.ID, s.task, members)
	}
	if len(members) == 1 { // there is nothing else to say
		return mcp.ResultResponse(req.ID, s.complete[:len(s.complete)-1], members)
	}
	opening := s.complete
	if req.Method == mcp.MethodDiscover {
		opening = s.discovery
	}
	return mcp.ResultResponse(req.ID, opening, hints(r.cache), members)
}

// fixed is the method whose result is always res.
func fixed(res result) method {
	return func(context.Context, *mcp.Request, mcp.NotifyFunc) (result, error) { return res, nil }
}

// encode makes a result of value, whose JSON form is an object.
func encode(value any, cache *mcp.Cache) (result, error) {
	object, err := jsonrpc.Marshal(value)
	return result{object: object, cache: cache}, err
}
