package notes

import (
	"cmp"
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

const (
	maxListed    = 200 // notes
	defaultFound = 10  // notes

	// maxListedSize bounds the notes of one list in bytes of JSON. A result has
	// them twice, as structured content and quoted as text, and must stay below
	// NATS's usual limit of 1 MiB for a message.
	maxListedSize = 256 << 10
)

const listInput = `{
	"type": "object",
	"properties": {
		"tag": {"type": "string", "description": "Only notes with exactly this tag; empty for all."}
	},
	"additionalProperties": false
}`

const searchInput = `{
	"type": "object",
	"properties": {
		"query": {
			"type": "string",
			"minLength": 1,
			"maxLength": 200,
			"pattern": "\\S",
			"description": "Text that the title or body contains; case does not matter."
		},
		"limit": {
			"type": "integer",
			"minimum": 1,
			"maximum": 50,
			"default": 10,
			"description": "How many notes to return at most."
		}
	},
	"required": ["query"],
	"additionalProperties": false
}`

const listOutput = `{
	"type": "object",
	"properties": {
		"notes": {"type": "array", "items": ` + noteSchema + `, "description": "Newest first."},
		"truncated": {"type": "boolean", "description": "Whether there are more, older notes that did not fit."},
		"unreadable": {"type": "integer", "minimum": 1, "description": "How many stored entries were left out because they could not be read."}
	},
	"required": ["notes", "truncated"],
	"additionalProperties": false
}`

type listing struct {
	Notes      []note `json:"notes"`
	Truncated  bool   `json:"truncated"`
	Unreadable int    `json:"unreadable,omitzero"`
}

func (s store) listTool() mcp.ServerTool {
	type input struct {
		Tag string `json:"tag"`
	}
	return tools.New(mcp.Tool{
		Name:         "notes_list",
		Title:        "List notes",
		Description:  "Lists the newest notes, all or those with a tag. At most 200 notes, fewer when they are long.",
		InputSchema:  jsontext.Value(listInput),
		OutputSchema: jsontext.Value(listOutput),
		Annotations:  tools.ReadOnly(),
	}, func(ctx context.Context, _ *mcp.ToolCall, in input) (listing, error) {
		return s.newest(ctx, maxListed, func(n note) bool { return in.Tag == "" || n.Tag == in.Tag })
	})
}

func (s store) searchTool() mcp.ServerTool {
	type input struct {
		Query string  `json:"query"`
		Limit float64 `json:"limit"` // 10.0 is an integer too in JSON Schema
	}
	return tools.New(mcp.Tool{
		Name:         "notes_search",
		Title:        "Search notes",
		Description:  "Finds notes whose title or body contains a text, whatever its case. Returns the newest first.",
		InputSchema:  jsontext.Value(searchInput),
		OutputSchema: jsontext.Value(listOutput),
		Annotations:  tools.ReadOnly(),
	}, func(ctx context.Context, _ *mcp.ToolCall, in input) (listing, error) {
		query := fold(in.Query)
		limit := cmp.Or(int(in.Limit), defaultFound)
		return s.newest(ctx, limit, func(n note) bool {
			return strings.Contains(fold(n.Title), query) || strings.Contains(fold(n.Body), query)
		})
	})
}

// newest returns the newest limit notes that match.
func (s store) newest(ctx context.Context, limit int, match func(note) bool) (listing, error) {
	found := top[note]{limit: limit, compare: newestFirst}
	unreadable, err := s.scan(ctx, func(n note) {
		if match(n) {
			found.add(n)
		}
	})
	if err != nil {
		return listing{}, err
	}
	notes := found.sorted()
	fitting := fit(notes)
	return listing{
		Notes:      fitting,
		Truncated:  found.more || len(fitting) < len(notes),
		Unreadable: unreadable,
	}, nil
}

// newestFirst orders notes of the same instant by their ids, so that every
// worker lists them alike.
func newestFirst(a, b note) int {
	return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
}

// fit returns the first of notes, up to maxListedSize but at least one.
func fit(notes []note) []note {
	size := 0
	for i, n := range notes {
		if size += n.size; i > 0 && size > maxListedSize {
			return notes[:i]
		}
	}
	return notes
}

// fold maps texts that differ only in case, or in how accents are composed, to
// the same one.
func fold(s string) string { return cases.Fold().String(norm.NFC.String(s)) }
