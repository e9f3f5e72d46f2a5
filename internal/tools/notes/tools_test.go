package notes_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestToolset(t *testing.T) {
	want := map[string][4]bool{ // read-only, destructive, idempotent, open world
		"notes_list":   {true, false, true, false},
		"notes_search": {true, false, true, false},
		"notes_create": {false, false, false, false},
		"notes_delete": {false, true, true, false},
	}
	got := map[string][4]bool{}
	for _, tool := range newRig().toolset.Tools {
		a := tool.Annotations
		got[tool.Name] = [4]bool{*a.ReadOnly, *a.Destructive, *a.Idempotent, *a.OpenWorld}
		assert.Error(t, validate(t, tool.InputSchema, `{"surplus":1}`), tool.Name)
	}
	assert.Equal(t, want, got)
}

func TestInputSchemas(t *testing.T) {
	tests := []struct {
		tool, arguments string
		valid           bool
	}{
		{"notes_create", `{"title":"t","body":""}`, true},
		{"notes_create", `{"title":"t"}`, false},
		{"notes_create", `{"body":"b"}`, false},
		{"notes_create", `{"title":"","body":""}`, false},
		{"notes_create", `{"title":" \n","body":""}`, false},
		{"notes_create", `{"title":"` + strings.Repeat("ü", 200) + `","body":""}`, true},
		{"notes_create", `{"title":"` + strings.Repeat("ü", 201) + `","body":""}`, false},
		{"notes_create", `{"title":"t","body":"` + strings.Repeat("b", 64<<10) + `"}`, true},
		{"notes_create", `{"title":"t","body":"` + strings.Repeat("b", 64<<10+1) + `"}`, false},
		{"notes_create", `{"title":"t","body":"","tag":"` + strings.Repeat("x", 50) + `"}`, true},
		{"notes_create", `{"title":"t","body":"","tag":"` + strings.Repeat("x", 51) + `"}`, false},
		{"notes_list", `{}`, true},
		{"notes_search", `{}`, false},
		{"notes_search", `{"query":""}`, false},
		{"notes_search", `{"query":"q","limit":1}`, true},
		{"notes_search", `{"query":"q","limit":50.0}`, true},
		{"notes_search", `{"query":"q","limit":0}`, false},
		{"notes_search", `{"query":"q","limit":51}`, false},
		{"notes_search", `{"query":"q","limit":1.5}`, false},
		{"notes_delete", `{}`, false},
		{"notes_delete", `{"id":"x"}`, true},
	}
	r := newRig()
	for _, tt := range tests {
		err := validate(t, r.tool(t, tt.tool).InputSchema, tt.arguments)
		assert.Equal(t, tt.valid, err == nil, "%s %.60s", tt.tool, tt.arguments)
	}
}

func TestCreate(t *testing.T) {
	r := newRig()
	got := r.as("ada").create(t, "Shopping", "milk", "home")
	assert.Regexp(t, `^[a-z2-7]{26}$`, got.ID)
	assert.Equal(t, note{
		ID: got.ID, Title: "Shopping", Body: "milk", Tag: "home", Owner: "ada", Created: "2026-07-28T12:00:01.123456Z",
	}, got)
	assert.NotEqual(t, got.ID, r.as("ada").create(t, "Shopping", "milk", "home").ID)
	assert.Len(t, r.bucket.entries, 2)

	bare := r.as("").create(t, "t", "", "")
	assert.NotContains(t, string(r.bucket.entries[bare.ID].value), `"owner"`)
	assert.NotContains(t, string(r.bucket.entries[bare.ID].value), `"tag"`)
}

func TestCreateBoundsBytes(t *testing.T) {
	r := newRig()
	body := strings.Repeat("ü", 32<<10) // 64 KiB
	r.as("").create(t, "fits", body, "")
	err := r.as("").run(t, "notes_create", map[string]any{"title": "t", "body": body + "x"}, nil)
	assert.EqualError(t, err, "the body has 65537 bytes, at most 65536 are allowed")
}

func TestList(t *testing.T) {
	r := newRig()
	assert.Equal(t, listing{Notes: []note{}}, r.as("").list(t, "notes_list", nil))
	first := r.as("ada").create(t, "first", "1", "work")
	r.as("eve").create(t, "second", "2", "home")
	r.as("ada").create(t, "third", "3", "work")

	all := r.as("bob").list(t, "notes_list", nil)
	assert.Equal(t, []string{"third", "second", "first"}, all.titles(), "everybody sees all notes")
	assert.Equal(t, first, all.Notes[2])
	assert.False(t, all.Truncated)

	assert.Equal(t, []string{"third", "first"}, r.as("").list(t, "notes_list", map[string]any{"tag": "work"}).titles())
	assert.Empty(t, r.as("").list(t, "notes_list", map[string]any{"tag": "Work"}).titles())
	assert.Len(t, r.as("").list(t, "notes_list", map[string]any{"tag": ""}).Notes, 3)
}

func TestListOfOneInstantIsOrderedByID(t *testing.T) {
	r := newRig()
	for _, id := range []string{"c", "a", "b"} {
		r.bucket.put(strings.Repeat(id, 26), `{"title":"`+id+`","body":"","created":"2026-07-28T12:00:00Z"}`)
	}
	assert.Equal(t, []string{"a", "b", "c"}, r.as("").list(t, "notes_list", nil).titles())
}

func TestListIsBounded(t *testing.T) {
	r := newRig()
	for i := range 1000 {
		created := epoch.Add(time.Duration(i) * time.Second).UTC().Format(time.RFC3339)
		r.bucket.put(strings.ToLower(rand.Text()), fmt.Sprintf(`{"title":"%d","body":"","created":%q}`, i, created))
	}
	got := r.as("").list(t, "notes_list", nil)
	require.Len(t, got.Notes, 200)
	assert.True(t, got.Truncated)
	assert.Equal(t, "999", got.Notes[0].Title)
	assert.Equal(t, "800", got.Notes[199].Title)
}

// The list must fit into a message even if every note is as long as can be.
func TestListFitsIntoAMessage(t *testing.T) {
	for name, body := range map[string]string{
		"plain":   strings.Repeat("b", 64<<10),
		"quotes":  strings.Repeat(`"`, 64<<10),
		"control": strings.Repeat("\x01", 64<<10),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			for range 5 {
				r.as("").create(t, "t", body, "")
			}
			got := r.as("").list(t, "notes_list", nil)
			assert.NotEmpty(t, got.Notes)
			assert.True(t, got.Truncated)
			text, err := jsonrpc.Marshal(got)
			require.NoError(t, err)
			quoted, err := jsonrpc.Marshal(string(text))
			require.NoError(t, err)
			assert.Less(t, len(text)+len(quoted), 1<<20)
		})
	}
}

func TestListSurvivesBadEntries(t *testing.T) {
	r := newRig()
	r.as("").create(t, "good", "", "")
	id := strings.Repeat("a", 26)
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"title":1}`, `{"title":"t","created":"yesterday"}`, "{\"title\":\"\xff\"}"} {
		r.bucket.put(id, bad)
		got := r.as("").list(t, "notes_list", nil)
		assert.Equal(t, []string{"good"}, got.titles(), bad)
		assert.Equal(t, 1, got.Unreadable, bad)
		assert.ErrorContains(t, r.as("").run(t, "notes_delete", map[string]any{"id": id}, nil), "decode note", bad)
	}
	r.bucket.put(id, `{"id":"lies","title":"newer","body":"","created":"2026-07-28T12:00:00Z","colour":"red"}`)
	got := r.as("").list(t, "notes_list", nil)
	assert.Equal(t, []string{"good", "newer"}, got.titles(), "unknown members are tolerated")
	assert.Equal(t, id, got.Notes[1].ID, "the key is the id")
	assert.Zero(t, got.Unreadable)
}

func FuzzStoredEntry(f *testing.F) {
	f.Add(`{"title":"t","body":"b","created":"2026-07-28T12:00:00Z"}`)
	f.Add(`{"title":"t","created":"2026-07-28T12:00:00+02:00","owner":null}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, value string) {
		r := newRig()
		r.bucket.put(strings.Repeat("a", 26), value)
		got := r.as("").list(t, "notes_list", nil)
		assert.Equal(t, 1, len(got.Notes)+got.Unreadable)
	})
}

func TestSearch(t *testing.T) {
	r := newRig()
	for _, n := range [][2]string{
		{"Straße", "ΟΔΥΣΣΕΥΣ"}, {"café", "Ärger"}, {"100%", "a.b*c"}, {"Привет", "мир"},
	} {
		r.as("").create(t, n[0], n[1], "")
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"STRASSE", []string{"Straße"}},
		{"strasse", []string{"Straße"}},
		{"οδυσσευς", []string{"Straße"}},
		{"CAFÉ", []string{"café"}},
		{"cafe\u0301", []string{"café"}},
		{"ärger", []string{"café"}},
		{"ПРИВЕТ", []string{"Привет"}},
		{"a.b*", []string{"100%"}},
		{"a", []string{"100%", "café", "Straße"}},
		{"nothing", []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			got := r.as("").list(t, "notes_search", map[string]any{"query": tt.query})
			assert.Equal(t, tt.want, got.titles())
		})
	}
}

func TestSearchLimit(t *testing.T) {
	r := newRig()
	for i := range 60 {
		r.as("").create(t, fmt.Sprintf("note %d", i), "", "")
	}
	for _, tt := range []struct {
		limit any
		want  int
	}{{nil, 10}, {1, 1}, {50, 50}} {
		arguments := map[string]any{"query": "NOTE"}
		if tt.limit != nil {
			arguments["limit"] = tt.limit
		}
		got := r.as("").list(t, "notes_search", arguments)
		require.Len(t, got.Notes, tt.want)
		assert.Equal(t, "note 59", got.Notes[0].Title)
		assert.True(t, got.Truncated)
	}
	got := r.as("").list(t, "notes_search", map[string]any{"query": "note 59", "limit": 1})
	assert.False(t, got.Truncated)
}

type deletion struct {
	ID, Message string
	Deleted     bool
}

func TestDelete(t *testing.T) {
	const ask, keep, remove = "ask", "keep", "remove"
	tests := []struct{ name, answer, want string }{
		{"not asked yet", ``, ask},
		{"accepted", `{"action":"accept","content":{"confirm":true}}`, remove},
		{"accepted as no", `{"action":"accept","content":{"confirm":false}}`, keep},
		{"accepted as text", `{"action":"accept","content":{"confirm":"yes"}}`, remove},
		{"accepted as number", `{"action":"accept","content":{"confirm":1}}`, ask},
		{"accepted without content", `{"action":"accept"}`, ask},
		{"accepted with another field", `{"action":"accept","content":{"other":true}}`, ask},
		{"declined", `{"action":"decline"}`, keep},
		{"declined with content", `{"action":"decline","content":{"confirm":true}}`, keep},
		{"cancelled", `{"action":"cancel"}`, keep},
		{"plain yes", `"yes"`, remove},
		{"plain no", `"no"`, keep},
		{"plain maybe", `"maybe"`, ask},
		{"unknown action", `{"action":"confirm","content":{"confirm":true}}`, ask},
		{"null", `null`, ask},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig()
			id := r.as("ada").create(t, "Plans", "", "").ID
			c := r.as("ada")
			if tt.answer != "" {
				c = c.answering(tt.answer)
			}
			var got deletion
			err := c.run(t, "notes_delete", map[string]any{"id": id}, &got)
			if tt.want == ask {
				assertAsks(t, err)
			} else {
				require.NoError(t, err)
				assert.Equal(t, id, got.ID)
				assert.NotEmpty(t, got.Message)
				assert.Equal(t, tt.want == remove, got.Deleted)
			}
			assert.Equal(t, tt.want == remove, len(r.bucket.entries) == 0)
		})
	}
}

func assertAsks(t *testing.T, err error) {
	t.Helper()
	required, ok := errors.AsType[*mcp.InputRequired](err)
	require.True(t, ok, "got %v", err)
	require.Len(t, required.Requests, 1)
	got, err := jsonrpc.Marshal(required.Requests[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"id": "confirm",
		"method": "elicitation/create",
		"params": {
			"mode": "form",
			"message": "Delete the note \"Plans\" for good?",
			"requestedSchema": {
				"type": "object",
				"properties": {"confirm": {"type": "boolean", "title": "Delete the note", "default": false}},
				"required": ["confirm"]
			}
		}
	}`, string(got))
}

func TestDeleteIsForTheOwner(t *testing.T) {
	tests := []struct {
		owner, caller string
		allowed       bool
	}{
		{"ada", "ada", true},
		{"ada", "eve", false},
		{"ada", "", false},
		{"", "eve", false},
		{"", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.owner+" by "+tt.caller, func(t *testing.T) {
			r := newRig()
			id := r.as(tt.owner).create(t, "Plans", "", "").ID
			arguments := map[string]any{"id": id}
			asked := r.as(tt.caller).run(t, "notes_delete", arguments, &deletion{})
			confirmed := r.as(tt.caller).answering(`"yes"`).run(t, "notes_delete", arguments, &deletion{})
			if tt.allowed {
				assertAsks(t, asked)
				require.NoError(t, confirmed)
				assert.Empty(t, r.bucket.entries)
				return
			}
			want := fmt.Sprintf("only its owner may delete the note %q", id)
			assert.EqualError(t, asked, want, "the owner is checked before the question")
			assert.EqualError(t, confirmed, want)
			assert.Len(t, r.bucket.entries, 1)
		})
	}
}

func TestDeleteUnknown(t *testing.T) {
	for _, id := range []string{strings.Repeat("a", 26), "x", "*", strings.Repeat("A", 26)} {
		err := newRig().as("").answering(`"yes"`).run(t, "notes_delete", map[string]any{"id": id}, nil)
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.EqualError(t, err, fmt.Sprintf("there is no note %q", id))
	}
}

func TestDeleteConcurrently(t *testing.T) {
	r := newRig()
	var ids []string
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 20 {
		wg.Go(func() {
			id := r.as("").create(t, "t", "", "").ID
			r.as("").list(t, "notes_list", nil)
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, id)
		})
	}
	wg.Wait()
	require.Len(t, r.bucket.entries, 20)

	deleted := make([]int, len(ids))
	for i, id := range ids {
		for range 4 {
			wg.Go(func() {
				err := r.as("").answering(`"yes"`).run(t, "notes_delete", map[string]any{"id": id}, &deletion{})
				if err != nil {
					assert.ErrorIs(t, err, fs.ErrNotExist)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				deleted[i]++
			})
		}
	}
	wg.Wait()
	for _, n := range deleted {
		assert.Equal(t, 1, n)
	}
	assert.Empty(t, r.bucket.entries)
}

func TestBucketFailures(t *testing.T) {
	r := newRig()
	id := r.as("").create(t, "t", "", "").ID
	r.bucket.fail = errors.New("no answer")
	for tool, arguments := range map[string]map[string]any{
		"notes_list":   {},
		"notes_search": {"query": "q"},
		"notes_create": {"title": "t", "body": ""},
		"notes_delete": {"id": id},
	} {
		err := r.as("").run(t, tool, arguments, nil)
		require.ErrorIs(t, err, r.bucket.fail, tool)
		assert.NotErrorIs(t, err, fs.ErrNotExist, tool)
	}
}
