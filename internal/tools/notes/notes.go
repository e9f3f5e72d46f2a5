// Package notes is a small notes server: tools to create, list, search and
// delete notes, each note as a resource, and a prompt that reviews one.
//
// The notes live in a Bucket that all workers of a pool share, so any of them
// can answer any request; nothing is kept in memory. Everybody who may call the
// pool sees all notes, and only the principal who created a note may delete it.
//
// Start at Toolset.
package notes

import (
	"context"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A Bucket stores values under keys. Its methods are called concurrently, by
// several processes at once.
type Bucket interface {
	// Get returns a value and the revision to delete it by. Its error wraps
	// fs.ErrNotExist when there is no such key.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Create stores a value. Its error wraps fs.ErrExist when the key exists.
	Create(ctx context.Context, key string, value []byte) error
	// Delete removes a key if it still has that revision, otherwise its error
	// wraps fs.ErrExist.
	Delete(ctx context.Context, key string, revision uint64) error
	// Range calls visit with all keys and values, in any order and on the
	// caller's goroutine, until visit returns false. visit may keep value.
	Range(ctx context.Context, visit func(key string, value []byte) bool) error
}

// Toolset returns the notes server on bucket. now tells the time at which a
// note is created.
func Toolset(bucket Bucket, now func() time.Time) mcp.Toolset {
	s := store{bucket: bucket, now: now}
	return mcp.Toolset{
		Name: "notes",
		Instructions: "Notes that everybody here can read. Find them with notes_search or notes_list, add one with notes_create. " +
			"notes_delete asks the user first, and only a note's owner may use it.",
		Tools:     []mcp.ServerTool{s.listTool(), s.searchTool(), s.createTool(), s.deleteTool()},
		Prompts:   []mcp.ServerPrompt{s.reviewPrompt()},
		Resources: resources{s},
	}
}
