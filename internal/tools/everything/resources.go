package everything

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	staticText   = "test://static-text"
	staticBinary = "test://static-binary"

	templatePrefix, templateSuffix = "test://template/", "/data"
)

// resources serves a text, a picture, and a text for each id.
type resources struct{}

var _ mcp.ResourceSource = resources{}

// Templates returns the one template.
func (resources) Templates() []mcp.ServerTemplate {
	return []mcp.ServerTemplate{{
		ResourceTemplate: mcp.ResourceTemplate{
			URITemplate: templatePrefix + "{id}" + templateSuffix,
			Name:        "template",
			Title:       "Data by id",
			Description: "A text that has the id in it.",
			MIMEType:    "text/plain",
		},
		Complete: completeID,
	}}
}

func completeID(_ context.Context, _ *mcp.Call, query mcp.CompletionQuery) (*mcp.Completion, error) {
	return mcp.CompleteFrom(query.Value, "1", "12", "123"), nil
}

// List returns what is there without an id.
func (resources) List(_ context.Context, _ *mcp.Call, after string, limit int) ([]mcp.Resource, error) {
	all := []mcp.Resource{
		{URI: staticBinary, Name: "static-binary", Title: "A red pixel", Description: "An image.", MIMEType: "image/png",
			Size: int64(len(redPixel()))},
		{URI: staticText, Name: "static-text", Title: "A text", Description: "It never changes.", MIMEType: "text/plain",
			Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser, mcp.RoleAssistant}, Priority: new(0.5)}},
	}
	start, found := slices.BinarySearchFunc(all, after, func(r mcp.Resource, uri string) int { return cmp.Compare(r.URI, uri) })
	if found {
		start++
	}
	return all[start:min(start+limit, len(all))], nil
}

// Read returns contents that everybody may keep for a minute.
func (resources) Read(_ context.Context, _ *mcp.Call, uri string) (*mcp.ReadResult, error) {
	contents, ok := read(uri)
	if !ok {
		return nil, fmt.Errorf("read a resource: %w", fs.ErrNotExist)
	}
	return &mcp.ReadResult{
		Contents: []mcp.ResourceContents{contents},
		Cache:    mcp.Cache{TTL: time.Minute, Public: true},
	}, nil
}

func read(uri string) (contents mcp.ResourceContents, ok bool) {
	switch uri {
	case staticText:
		return mcp.TextResource(uri, "text/plain", "This is the content of the static text resource."), true
	case staticBinary:
		return mcp.BlobResource(uri, "image/png", redPixel()), true
	}
	rest, begins := strings.CutPrefix(uri, templatePrefix)
	id, ends := strings.CutSuffix(rest, templateSuffix)
	if !begins || !ends || id == "" || strings.Contains(id, "/") {
		return mcp.ResourceContents{}, false
	}
	return mcp.TextResource(uri, "text/plain", "Data for the id "+id+"."), true
}
