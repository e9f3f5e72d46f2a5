package dispatch_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A stub is a source with one answer.
type stub struct {
	templates []mcp.ServerTemplate
	listed    []mcp.Resource
	read      *mcp.ReadResult
	err       error
}

func (s stub) Templates() []mcp.ServerTemplate { return s.templates }

func (s stub) List(context.Context, *mcp.Call, string, int) ([]mcp.Resource, error) {
	return s.listed, s.err
}

func (s stub) Read(context.Context, *mcp.Call, string) (*mcp.ReadResult, error) { return s.read, s.err }

func serving(t *testing.T, sources ...mcp.ResourceSource) *dispatch.Dispatcher {
	cfg := dispatch.Config{PageSize: 2}
	for _, source := range sources {
		cfg.Toolsets = append(cfg.Toolsets, mcp.Toolset{Resources: source})
	}
	return newDispatcher(t, cfg)
}

func TestResourcesOfSeveralSourcesArePagedAsOne(t *testing.T) {
	d := serving(t, memory{"mem://1": "", "mem://4": "", "mem://5": ""}, withoutTemplates{memory{"mem://2": "", "mem://3": "", "mem://4": ""}})
	assert.Equal(t, [][]string{{"mem://1", "mem://2"}, {"mem://3", "mem://4"}, {"mem://5"}},
		walk(t, []mcp.Handler{d, d}, mcp.MethodResourcesList))
}

type withoutTemplates struct{ memory }

func (withoutTemplates) Templates() []mcp.ServerTemplate { return nil }

func TestResourceSourceErrors(t *testing.T) {
	list, read := strictRequest(`1`, "resources/list", `"x":1`), strictRequest(`1`, "resources/read", `"uri":"mem://a"`)
	for name, test := range map[string]struct {
		err            error
		onList, onRead string
	}{
		"of its own": {errors.New("secret"), `"code":-32603,"message":"Internal error"`, `"code":-32603,"message":"Internal error"`},
		"protocol":   {jsonrpc.Errorf(-31005, "slow down"), `"code":-31005,"message":"slow down"`, `"code":-31005,"message":"slow down"`},
		"not there":  {fs.ErrNotExist, `"code":-32603,"message":"Internal error"`, `"code":-32602,"message":"Resource not found"`},
		"input":      {&mcp.InputRequired{Requests: []mcp.InputRequest{mcp.ListRoots("r")}}, `"code":-32603,"message":"Internal error"`, `"code":-32021`},
	} {
		t.Run(name, func(t *testing.T) {
			d := serving(t, stub{err: test.err})
			assert.Contains(t, handle(t, d, mcp.Strict, list), test.onList)
			assert.Contains(t, handle(t, d, mcp.Strict, read), test.onRead)
		})
	}
}

// A source that fails ends the search: a later one cannot know better.
func TestReadStopsAtAFailure(t *testing.T) {
	d := serving(t, stub{err: errors.New("down")}, stub{read: &mcp.ReadResult{}})
	assert.Contains(t, handle(t, d, mcp.Strict, strictRequest(`1`, "resources/read", `"uri":"mem://a"`)), `"code":-32603`)
}

func TestReadHints(t *testing.T) {
	for hints, cache := range map[string]mcp.Cache{
		`"ttlMs":1500,"cacheScope":"public","contents":[]`:   {TTL: 1500 * time.Millisecond, Public: true},
		`"ttlMs":60000,"cacheScope":"private","contents":[]`: {TTL: time.Minute},
		`"ttlMs":0,"cacheScope":"private","contents":[]`:     {TTL: -time.Second},
	} {
		d := serving(t, stub{read: &mcp.ReadResult{Cache: cache}})
		assert.Contains(t, handle(t, d, mcp.Strict, strictRequest(`1`, "resources/read", `"uri":"mem://a"`)), hints)
	}
}

func TestTemplateThatCannotBeEncoded(t *testing.T) {
	nan := math.NaN()
	source := stub{templates: []mcp.ServerTemplate{{ResourceTemplate: mcp.ResourceTemplate{URITemplate: "a://{b}", Annotations: &mcp.Annotations{Priority: &nan}}}}}
	_, err := dispatch.New(dispatch.Config{Toolsets: []mcp.Toolset{{Resources: source}}}, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, `resource template "a://{b}": `)
}
