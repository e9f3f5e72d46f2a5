package notes_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools/notes"
)

// A memory is a notes.Bucket. It is safe for concurrent use.
type memory struct {
	mu       sync.Mutex // guards what follows
	entries  map[string]entry
	revision uint64
	fail     error // returned by every method, if set
}

type entry struct {
	value    []byte
	revision uint64
}

var _ notes.Bucket = (*memory)(nil)

func (m *memory) Get(_ context.Context, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	switch {
	case m.fail != nil:
		return nil, 0, m.fail
	case !ok:
		return nil, 0, fmt.Errorf("key %q: %w", key, fs.ErrNotExist)
	}
	return slices.Clone(e.value), e.revision, nil
}

func (m *memory) Create(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if _, ok := m.entries[key]; ok {
		return fmt.Errorf("key %q: %w", key, fs.ErrExist)
	}
	m.revision++
	m.entries[key] = entry{slices.Clone(value), m.revision}
	return nil
}

func (m *memory) Delete(_ context.Context, key string, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.entries[key].revision != revision {
		return fmt.Errorf("key %q: %w", key, fs.ErrExist)
	}
	delete(m.entries, key)
	return nil
}

func (m *memory) Range(_ context.Context, visit func(key string, value []byte) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	for key, e := range m.entries {
		if !visit(key, e.value) {
			return nil
		}
	}
	return nil
}

// put stores what another program, or another version, may have left.
func (m *memory) put(key, value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.revision++
	m.entries[key] = entry{[]byte(value), m.revision}
}

// A rig is the toolset on a memory, with a clock that moves on a second each
// time it is read.
type rig struct {
	bucket  *memory
	toolset mcp.Toolset
}

var epoch = time.Date(2026, 7, 28, 14, 0, 0, 123456789, time.FixedZone("", 2*60*60))

func newRig() rig {
	bucket := &memory{entries: map[string]entry{}}
	var mu sync.Mutex
	clock := epoch
	return rig{bucket, notes.Toolset(bucket, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(time.Second)
		return clock
	})}
}

// note mirrors the JSON form of a note.
type note struct {
	ID, Title, Body, Tag, Owner, Created string
}

type listing struct {
	Notes      []note
	Truncated  bool
	Unreadable int
}

// A caller calls tools for a principal with answers to input requests.
type caller struct {
	rig
	principal string
	responses mcp.InputResponses
	events    func(mcp.Event)
}

func (r rig) as(principal string) caller { return caller{rig: r, principal: principal} }

func (c caller) answering(answer string) caller {
	c.responses = mcp.InputResponses{"confirm": jsontext.Value(answer)}
	return c
}

// run calls a tool, checks arguments and output against its schemas, and
// decodes the output into out.
func (c caller) run(t testing.TB, name string, arguments map[string]any, out any) error {
	t.Helper()
	tool := c.tool(t, name)
	text, err := jsonrpc.Marshal(arguments)
	require.NoError(t, err)
	require.NoError(t, validate(t, tool.InputSchema, string(text)))
	call, refusal := mcp.NewCall(&mcp.Request{Principal: c.principal}, mcp.CallConfig{Answers: c.responses, Events: c.events})
	require.Nil(t, refusal)
	result, err := tool.Run(t.Context(), &mcp.ToolCall{Call: call, Arguments: text})
	if err != nil {
		return err
	}
	text, err = jsonrpc.Marshal(result)
	require.NoError(t, err)
	require.NoError(t, validate(t, tool.OutputSchema, string(text)))
	require.NoError(t, json.Unmarshal(text, out, json.MatchCaseInsensitiveNames(true)))
	return nil
}

func (c caller) create(t testing.TB, title, body, tag string) note {
	t.Helper()
	var n note
	require.NoError(t, c.run(t, "notes_create", map[string]any{"title": title, "body": body, "tag": tag}, &n))
	return n
}

func (c caller) list(t testing.TB, name string, arguments map[string]any) listing {
	t.Helper()
	var l listing
	require.NoError(t, c.run(t, name, arguments, &l))
	return l
}

func (l listing) titles() []string {
	titles := []string{}
	for _, n := range l.Notes {
		titles = append(titles, n.Title)
	}
	return titles
}

func (r rig) tool(t testing.TB, name string) mcp.ServerTool {
	t.Helper()
	i := slices.IndexFunc(r.toolset.Tools, func(tool mcp.ServerTool) bool { return tool.Name == name })
	require.GreaterOrEqual(t, i, 0, "no tool %s", name)
	return r.toolset.Tools[i]
}

func validate(t testing.TB, schema jsontext.Value, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("schema.json", doc))
	compiled, err := compiler.Compile("schema.json")
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	return compiled.Validate(value)
}
