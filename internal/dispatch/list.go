package dispatch

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// DefaultPageSize is the most entries on one page of a list, unless the Config
// says otherwise.
const DefaultPageSize = 250

// A list is the encoded entries of a part of the catalogue, in the order of
// their keys.
type list struct {
	member  string // the name of the result's member
	keys    []string
	entries [][]byte
}

// listed is what a list has entries of.
type listed interface {
	key() string   // unique in the list
	entry() []byte // encoded
}

// byKey is items by their keys.
func byKey[T listed](items []T) map[string]T {
	found := make(map[string]T, len(items))
	for _, item := range items {
		found[item.key()] = item
	}
	return found
}

func newList[T listed](member string, items []T) *list {
	l := &list{member: member}
	for _, item := range items {
		l.keys = append(l.keys, item.key())
		l.entries = append(l.entries, item.entry())
	}
	return l
}

// whole answers with all entries and no cursor. The result is made once.
func (l *list) whole(hints *mcp.Cache) method {
	return fixed(result{object: l.page(0, len(l.entries)), cache: hints})
}

// paged answers with the page that the request's cursor points to. All pages are
// made once, but for those of a client that goes on where another catalogue was
// cut. All have the same hints.
//
// Spec: MCP 2026-07-28, Pagination.
func (l *list) paged(size int, hints *mcp.Cache) method {
	pages := [][]byte{l.page(0, size)}
	for start := size; start < len(l.entries); start += size {
		pages = append(pages, l.page(start, size))
	}
	return func(_ context.Context, req *mcp.Request, _ mcp.NotifyFunc) (result, error) {
		after, refusal := parseCursor(req.Params.Cursor)
		if refusal != nil {
			return result{}, refusal
		}
		start := l.after(after)
		if n := start / size; start%size == 0 && n < len(pages) {
			return result{object: pages[n], cache: hints}, nil
		}
		return result{object: l.page(start, size), cache: hints}, nil
	}
}

// after returns the index of the first entry behind key, which need not exist:
// it may have been taken out, or be of a worker with another catalogue.
func (l *list) after(key string) int {
	i, found := slices.BinarySearch(l.keys, key)
	if found {
		i++
	}
	return i
}

// page encodes the page of at most size entries from start on.
func (l *list) page(start, size int) []byte {
	end := min(start+size, len(l.entries))
	page := append([]byte(`{"`), l.member...)
	page = append(page, `":[`...)
	for i, entry := range l.entries[start:end] {
		if i > 0 {
			page = append(page, ',')
		}
		page = append(page, entry...)
	}
	page = append(page, ']')
	if end < len(l.entries) {
		page = append(page, `,"nextCursor":"`...)
		page = append(page, newCursor(l.keys[end-1])...)
		page = append(page, '"')
	}
	return append(page, '}')
}

// cursorVersion begins every cursor, so that a later form can be told apart.
const cursorVersion = "\x01"

// cursorEncoding makes cursors that need no escapes, neither in JSON nor in a URL.
func cursorEncoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }

// newCursor points behind the entry that has key. It holds nothing else, so any
// worker understands it, and it stays good when the list changes.
func newCursor(key string) string {
	return cursorEncoding().EncodeToString([]byte(cursorVersion + key))
}

// parseCursor returns the key behind which the page starts, which is empty when
// there is no cursor. The empty string is a cursor, and not one of ours.
func parseCursor(raw jsontext.Value) (key string, refusal *jsonrpc.Error) {
	if mcp.IsAbsent(raw) {
		return "", nil
	}
	cursor, ok := mcp.Text(raw)
	if !ok {
		return "", mcp.InvalidParams("cursor must be a string")
	}
	decoded, err := cursorEncoding().DecodeString(cursor)
	key, ok = strings.CutPrefix(string(decoded), cursorVersion)
	if err != nil || !ok || key == "" || newCursor(key) != cursor { // which may have line breaks
		return "", mcp.InvalidParams("cursor is not one that this server has issued")
	}
	return key, nil
}
