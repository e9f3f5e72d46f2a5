package dispatch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

type page struct {
	Result struct {
		Tools     []struct{ Name string }        `json:"tools"`
		Prompts   []struct{ Name string }        `json:"prompts"`
		Resources []struct{ URI string }         `json:"resources"`
		Templates []struct{ URITemplate string } `json:"resourceTemplates"`
		Next      *string                        `json:"nextCursor"`
		Scope     string                         `json:"cacheScope"`
		TTL       int                            `json:"ttlMs"`
	} `json:"result"`
}

func (p page) keys() []string {
	var keys []string
	for _, e := range p.Result.Tools {
		keys = append(keys, e.Name)
	}
	for _, e := range p.Result.Prompts {
		keys = append(keys, e.Name)
	}
	for _, e := range p.Result.Resources {
		keys = append(keys, e.URI)
	}
	for _, e := range p.Result.Templates {
		keys = append(keys, e.URITemplate)
	}
	return keys
}

func getPage(t *testing.T, h mcp.Handler, method string, cursor *string) page {
	t.Helper()
	member := ""
	if cursor != nil {
		member = fmt.Sprintf(`"cursor":%q,`, *cursor)
	}
	raw := handle(t, h, mcp.Strict, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, member, strictMeta))
	var p page
	require.NoError(t, json.Unmarshal([]byte(raw), &p, json.MatchCaseInsensitiveNames(true)), raw)
	return p
}

// walk follows the cursors of a list, asking another worker for every page.
func walk(t *testing.T, workers []mcp.Handler, method string) (pages [][]string) {
	t.Helper()
	var cursor *string
	for i := 0; ; i++ {
		p := getPage(t, workers[i%len(workers)], method, cursor)
		pages = append(pages, p.keys())
		if cursor = p.Result.Next; cursor == nil {
			return pages
		}
	}
}

func numbered(n int) dispatch.Config {
	set, source := mcp.Toolset{}, memory{}
	for i := range n {
		set.Tools = append(set.Tools, tool(fmt.Sprintf("t%03d", i), anyObject, ask))
		set.Prompts = append(set.Prompts, prompt(fmt.Sprintf("p%03d", i), nil))
		source[fmt.Sprintf("mem://%03d", i)] = "x"
	}
	set.Resources = withTemplates{source}
	return dispatch.Config{Toolsets: []mcp.Toolset{set}}
}

// withTemplates is a source with a template for each resource.
type withTemplates struct{ memory }

func (s withTemplates) Templates() (templates []mcp.ServerTemplate) {
	for uri := range s.memory {
		templates = append(templates, mcp.ServerTemplate{ResourceTemplate: mcp.ResourceTemplate{URITemplate: uri + "/{name}", Name: "x"}})
	}
	return templates
}

func TestPagination(t *testing.T) {
	cfg := numbered(7)
	cfg.PageSize = 3
	slices.Reverse(cfg.Toolsets[0].Tools)
	workers := []mcp.Handler{newDispatcher(t, cfg), newDispatcher(t, cfg)}

	assert.Equal(t, [][]string{{"t000", "t001", "t002"}, {"t003", "t004", "t005"}, {"t006"}}, walk(t, workers, mcp.MethodToolsList))
	assert.Equal(t, [][]string{{"p000", "p001", "p002"}, {"p003", "p004", "p005"}, {"p006"}}, walk(t, workers, mcp.MethodPromptsList))
	assert.Equal(t, [][]string{{"mem://000", "mem://001", "mem://002"}, {"mem://003", "mem://004", "mem://005"}, {"mem://006"}},
		walk(t, workers, mcp.MethodResourcesList))
	assert.Equal(t, [][]string{
		{"mem://000/{name}", "mem://001/{name}", "mem://002/{name}"}, {"mem://003/{name}", "mem://004/{name}", "mem://005/{name}"}, {"mem://006/{name}"},
	}, walk(t, workers, mcp.MethodResourceTemplatesList))
}

func TestLastPageHasNoCursor(t *testing.T) {
	cfg := numbered(6)
	cfg.PageSize = 3
	workers := []mcp.Handler{newDispatcher(t, cfg)}
	assert.Len(t, walk(t, workers, mcp.MethodToolsList), 2)
	assert.Len(t, walk(t, workers, mcp.MethodResourcesList), 2)
}

func TestDefaultPageSize(t *testing.T) {
	workers := []mcp.Handler{newDispatcher(t, numbered(dispatch.DefaultPageSize+1))}
	for _, method := range []string{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList} {
		pages := walk(t, workers, method)
		require.Len(t, pages, 2, method)
		assert.Len(t, pages[0], 250, method)
		assert.Len(t, pages[1], 1, method)
	}
	whole := handle(t, workers[0], mcp.Contract, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	assert.Contains(t, whole, `"t250"`)
	assert.NotContains(t, whole, "nextCursor")
}

// During a deployment the pages of one walk can be of different catalogues.
func TestCursorOutlivesItsEntry(t *testing.T) {
	cfg := numbered(4)
	cfg.PageSize = 2
	first := getPage(t, newDispatcher(t, cfg), mcp.MethodToolsList, nil)
	cfg.Toolsets[0].Tools = slices.Delete(cfg.Toolsets[0].Tools, 1, 2)
	second := getPage(t, newDispatcher(t, cfg), mcp.MethodToolsList, first.Result.Next)
	assert.Equal(t, []string{"t002", "t003"}, second.keys())
	assert.Nil(t, second.Result.Next)
}

func TestAllPagesHaveTheSameScope(t *testing.T) {
	cfg := numbered(3)
	cfg.PageSize = 2
	d := newDispatcher(t, cfg)
	for method, scope := range map[string]string{
		mcp.MethodToolsList: "public", mcp.MethodPromptsList: "public", mcp.MethodResourceTemplatesList: "public", mcp.MethodResourcesList: "private",
	} {
		first := getPage(t, d, method, nil)
		assert.Equal(t, scope, first.Result.Scope)
		assert.Equal(t, scope, getPage(t, d, method, first.Result.Next).Result.Scope)
	}
}

// Any cursor is either refused or a place in the list, and never a fault.
func FuzzCursor(f *testing.F) {
	cfg := numbered(5)
	cfg.PageSize = 2
	d := newDispatcher(f, cfg)
	for _, seed := range []string{"", "AXQwMDE", "AQ", "AnQwMDE", "AXQwMDF", "AXQwMDE=", "t001", "\x00", "AXp6"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		encoded, err := json.Marshal(cursor)
		if err != nil {
			return // JSON holds no such string
		}
		for _, method := range []string{mcp.MethodToolsList, mcp.MethodResourcesList} {
			res := d.Handle(t.Context(), parse(t, mcp.Strict, strictRequest("1", method, `"cursor":`+string(encoded))), nil)
			assert.Contains(t, []int{0, -32602}, res.Code)
		}
	})
}
