package notes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	scheme   = "notes://"
	mimeType = "text/markdown"
)

// resources serves each note as notes://{id}, the text of which is its body.
type resources struct{ store store }

var _ mcp.ResourceSource = resources{}

// Templates returns the one template of all notes.
func (r resources) Templates() []mcp.ServerTemplate {
	return []mcp.ServerTemplate{{
		ResourceTemplate: mcp.ResourceTemplate{
			URITemplate: scheme + "{id}",
			Name:        "note",
			Title:       "Note",
			Description: "The body of the note with that id.",
			MIMEType:    mimeType,
		},
		Complete: r.store.completeID,
	}}
}

// List returns the notes in the order of their ids.
func (r resources) List(ctx context.Context, _ *mcp.Call, after string, limit int) ([]mcp.Resource, error) {
	page := top[mcp.Resource]{limit: limit, compare: func(a, b mcp.Resource) int { return strings.Compare(a.URI, b.URI) }}
	_, err := r.store.scan(ctx, func(n note) {
		if resource := n.resource(); resource.URI > after {
			page.add(resource)
		}
	})
	if err != nil {
		return nil, err
	}
	return page.sorted(), nil
}

// Read returns the note uri. Its result is private and stale at once, because
// any worker may delete the note.
func (r resources) Read(ctx context.Context, _ *mcp.Call, uri string) (*mcp.ReadResult, error) {
	id, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return nil, unknownError(uri)
	}
	n, _, err := r.store.get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResult{Contents: []mcp.ResourceContents{n.contents()}}, nil
}

func (n note) uri() string { return scheme + n.ID }

func (n note) resource() mcp.Resource {
	resource := mcp.Resource{
		URI:         n.uri(),
		Name:        n.ID,
		Title:       n.Title,
		MIMEType:    mimeType,
		Annotations: &mcp.Annotations{LastModified: n.Created.Format(time.RFC3339)},
		Size:        int64(len(n.Body)),
	}
	if n.Tag != "" {
		resource.Description = fmt.Sprintf("A note with the tag %q.", n.Tag)
	}
	return resource
}

func (n note) contents() mcp.ResourceContents {
	return mcp.ResourceContents{URI: n.uri(), MIMEType: mimeType, Text: &n.Body}
}
