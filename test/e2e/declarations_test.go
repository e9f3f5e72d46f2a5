package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/test/wire"
)

// A declaration is what one request says of its client, and what the client is
// sent for it.
type declaration struct {
	tool         string // that answers by it
	capabilities string // members, in JSON
	more         string // further members of _meta
	want         []string
}

// declarations has neighbours that differ in what they declare to one tool: what
// is remembered of one of them shows in what the next one gets.
func declarations() []declaration {
	const ask = "test_input_required_result_"
	const log, report = "test_logging_tool", "test_tool_with_progress"
	level := func(name string) string { return fmt.Sprintf(`"io.modelcontextprotocol/logLevel":%q`, name) }
	all := []declaration{
		{ask + "elicitation", `"elicitation":{}`, "", []string{"input_required elicitation/create"}},
		{ask + "elicitation", `"sampling":{},"roots":{}`, "", []string{"-32021 elicitation"}},
		{ask + "elicitation", `"elicitation":{"url":{}}`, "", []string{"-32021 elicitation"}},
		{ask + "sampling", `"sampling":{}`, "", []string{"input_required sampling/createMessage"}},
		{ask + "sampling", `"elicitation":{},"roots":{}`, "", []string{"-32021 sampling"}},
		{ask + "list_roots", `"roots":{}`, "", []string{"input_required roots/list"}},
		{ask + "list_roots", `"elicitation":{},"sampling":{}`, "", []string{"-32021 roots"}},
		{log, "", level("debug"), []string{"log debug", "log info", "log warning", "complete"}},
		{log, "", "", []string{"complete"}},
		{log, "", level("warning"), []string{"log warning", "complete"}},
	}
	for _, token := range []string{`"1"`, `1`} {
		progress := "progress " + token
		all = append(all, declaration{report, "", `"progressToken":` + token, []string{progress, progress, progress, "complete"}})
	}
	return append(all, declaration{report, "", "", []string{"complete"}})
}

// params is those of a call that declares d, in JSON and without braces.
func (d declaration) params() string {
	meta := join(`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`,
		fmt.Sprintf(`"io.modelcontextprotocol/clientCapabilities":{%s}`, d.capabilities), d.more)
	return fmt.Sprintf(`"name":%q,"_meta":{%s}`, d.tool, meta)
}

// gist is the part of a message that depends on what the client declared.
func gist(t *testing.T, text []byte) string {
	t.Helper()
	require.NoError(t, wire.Validate("tools/call", text))
	var m struct {
		Method string
		Params struct {
			ProgressToken json.RawMessage
			Level         string
		}
		Result struct {
			ResultType    string
			InputRequests map[string]struct{ Method string }
		}
		Error *struct {
			Code int
			Data struct{ RequiredCapabilities map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(text, &m))
	switch {
	case m.Method == "notifications/progress":
		return "progress " + string(m.Params.ProgressToken)
	case m.Method != "":
		return "log " + m.Params.Level
	case m.Error != nil:
		return fmt.Sprintf("%d %s", m.Error.Code, slices.Collect(maps.Keys(m.Error.Data.RequiredCapabilities))[0])
	}
	words := []string{m.Result.ResultType}
	for _, asked := range m.Result.InputRequests {
		words = append(words, asked.Method)
	}
	return strings.Join(words, " ")
}

// Requests take turns on one connection, as those of two clients behind a proxy
// do, in one order and the opposite one, until each worker has had each of them:
// what one declares is neither there for the next one nor missing from it.
//
// Spec: MCP 2026-07-28, Base Protocol, Capabilities.
func TestDeclarationsAreOfOneRequest(t *testing.T) {
	t.Parallel()
	const workers = 2
	server := bustest.StartServer(t)
	seen := observe(t, server.ClientURL())
	f := startFleet(t, inProcess, server.ClientURL(), 0)
	for range workers {
		inProcess(t, "worker", "-nats", server.ClientURL(), "-toolsets", "everything")
	}
	f.awaitWorkers(t, workers)

	connections := make(map[string]bool) // by the client's address; false when new
	ctx := remember(t.Context(), connections)
	all := declarations()
	type turn struct{ worker, request string }
	turns := make(map[turn]bool)
	for round := 0; len(turns) < workers*len(all); round++ {
		require.Less(t, round, 20, "workers that never answer: %v", turns)
		for _, d := range all {
			p := strict("tools/call", d.tool, "")
			p.body = request("tools/call", d.params())
			a, err := f.send(ctx, p)
			require.NoError(t, err)
			require.Equal(t, d.want, gists(t, a), p.body)
			worker, _ := seen.next(t)
			turns[turn{worker, p.body}] = true
		}
		slices.Reverse(all)
	}
	assert.Equal(t, []bool{true}, slices.Collect(maps.Values(connections)), "one connection, used again and again")
}

func gists(t *testing.T, a answer) (all []string) {
	t.Helper()
	for _, m := range a.messages {
		all = append(all, gist(t, m))
	}
	return all
}

// remember returns a context for requests whose connections are added to
// connections, with whether the last request on each found it in use already.
func remember(ctx context.Context, connections map[string]bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		connections[got.Conn.LocalAddr().String()] = got.Reused
	}})
}

// On stdio all share one stream, and here also the time: each response, and each
// report of progress, is that of its own request. Log messages do not tell which
// request they belong to, but there are no more of them than were asked for.
func TestDeclarationsShareAStream(t *testing.T) {
	t.Parallel()
	h := startHost(t, "-workers", "2", "-toolsets", "everything")
	all := declarations()
	for round := range 4 {
		var requests []string
		want, got := make(map[string]int), make(map[string]int)
		for i, d := range all {
			requests = append(requests, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, i, d.params()))
			last := len(d.want) - 1
			want[fmt.Sprintf("%d: %s", i, d.want[last])]++
			for _, notification := range d.want[:last] {
				want[notification]++
			}
		}
		if round%2 == 1 {
			slices.Reverse(requests)
		}
		h.write(t, requests...)
		for answered := 0; answered < len(all); {
			text, ok := h.line(t)
			require.True(t, ok)
			var m message
			require.NoError(t, json.Unmarshal([]byte(text), &m))
			key := gist(t, []byte(text))
			if m.Method == "" {
				answered++
				key = fmt.Sprintf("%s: %s", m.ID, key)
			}
			got[key]++
		}
		require.Equal(t, want, got)
	}
	require.NoError(t, h.in.Close())
	require.NoError(t, h.wait(t))
}
