package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools/basics"
	"github.com/mcpyard/mcpyard/internal/tools/everything"
	"github.com/mcpyard/mcpyard/internal/tools/notes"
)

// Two pools that differ only in the order in which everything was registered and
// stored have the same lists, byte for byte, on pages that each may continue for
// the other.
//
// Spec: MCP 2026-07-28, Pagination.
func TestListsDoNotDependOnTheOrderOfRegistration(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	f := startFleet(t, inProcess, server.ClientURL(), 0)
	servePool(t, server, "forwards", func([]mcp.Toolset, []string) {})
	servePool(t, server, "backwards", reverse)
	for _, pool := range []string{"forwards", "backwards"} {
		eventually(t, func() bool { return f.ask(t, strict("server/discover", "", "").in(pool)).status == http.StatusOK })
	}
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		t.Run(method, func(t *testing.T) {
			pages, cursor := 0, ""
			for more := true; more; pages++ {
				require.Less(t, pages, 100, "the list has no end")
				p := strict(method, "", cursor)
				first, second := f.ask(t, p.in("forwards")).response(), f.ask(t, p.in("backwards")).response()
				require.Equal(t, first, second)
				var next string
				next, more = nextCursor(t, first)
				cursor = fmt.Sprintf(`"cursor":%q`, next)
			}
			assert.Greater(t, pages, 1)
		})
	}
}

// nextCursor returns the cursor that a page of a list ends with.
func nextCursor(t *testing.T, page string) (cursor string, ok bool) {
	t.Helper()
	var p struct {
		Result *struct{ NextCursor *string }
	}
	require.NoError(t, json.Unmarshal([]byte(page), &p))
	require.NotNil(t, p.Result, page)
	if p.Result.NextCursor == nil {
		return "", false
	}
	return *p.Result.NextCursor, true
}

// servePool runs a worker of all toolsets, and of some notes, in a pool of its
// own. arrange may put the toolsets, and the ids of the notes, in another order.
func servePool(t *testing.T, server *embedded.Server, pool string, arrange func(toolsets []mcp.Toolset, ids []string)) {
	t.Helper()
	conn := bustest.Connect(t, server)
	bucket, err := bus.OpenBucket(t.Context(), conn.Conn, "notes-"+pool, 1)
	require.NoError(t, err)
	toolsets := []mcp.Toolset{basics.Toolset(), notes.Toolset(bucket, time.Now), everything.Toolset(), templates()}
	var ids []string
	for _, letter := range "abcdefgh" {
		ids = append(ids, strings.Repeat(string(letter), 26))
	}
	arrange(toolsets, ids)
	for _, id := range ids {
		note := fmt.Sprintf(`{"title":"About %[1]s","body":%[1]q,"created":"2026-07-28T00:00:00Z"}`, id)
		require.NoError(t, bucket.Create(t.Context(), id, []byte(note)))
	}
	const pageSize = 3
	dispatcher, err := dispatch.New(dispatch.Config{Toolsets: toolsets, PageSize: pageSize}, bustest.Log(t))
	require.NoError(t, err)
	worker, err := bus.NewConsumer(conn, dispatcher, bus.ConsumerConfig{Address: bus.Address{Realm: "main", Pool: pool}}, bustest.Log(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
}

// reverse puts everything in the opposite order.
func reverse(toolsets []mcp.Toolset, ids []string) {
	slices.Reverse(toolsets)
	slices.Reverse(ids)
	for i, set := range toolsets {
		slices.Reverse(set.Tools)
		slices.Reverse(set.Prompts)
		if set.Resources != nil {
			toolsets[i].Resources = backwards{set.Resources}
		}
	}
}

// A backwards source has its templates in the opposite order.
type backwards struct{ mcp.ResourceSource }

func (b backwards) Templates() []mcp.ServerTemplate {
	templates := slices.Clone(b.ResourceSource.Templates())
	slices.Reverse(templates)
	return templates
}

// templates is a toolset of nothing but resource templates.
func templates() mcp.Toolset { return mcp.Toolset{Name: "templates", Resources: templateSource{}} }

type templateSource struct{ mcp.ResourceSource }

func (templateSource) Templates() (all []mcp.ServerTemplate) {
	for _, scheme := range []string{"one", "two", "three"} {
		all = append(all, mcp.ServerTemplate{ResourceTemplate: mcp.ResourceTemplate{URITemplate: scheme + "://{id}", Name: scheme}})
	}
	return all
}

func (templateSource) List(context.Context, *mcp.Call, string, int) ([]mcp.Resource, error) {
	return nil, nil
}
