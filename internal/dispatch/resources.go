package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A template is a resource template of the catalogue.
type template struct {
	mcp.ServerTemplate
	definition []byte   // as the list shows it
	variables  []string // in the URI template
}

// newTemplate encodes a definition. Its error names the template.
func newTemplate(definition mcp.ServerTemplate) (*template, error) {
	encoded, err := jsonrpc.Marshal(definition.ResourceTemplate)
	if err = errors.Join(err, checkIcons(definition.Icons)); err != nil {
		return nil, fmt.Errorf("resource template %q: %w", definition.URITemplate, err)
	}
	return &template{ServerTemplate: definition, definition: encoded, variables: variables(definition.URITemplate)}, nil
}

func (t *template) key() string   { return t.URITemplate }
func (t *template) entry() []byte { return t.definition }

func (t *template) takes(argument string) bool { return slices.Contains(t.variables, argument) }

func (t *template) suggests() mcp.CompleteFunc { return t.Complete }

func (d *Dispatcher) addResources() {
	c := d.catalogue
	if len(c.sources) > 0 {
		d.strict[mcp.MethodResourceTemplatesList] = newList("resourceTemplates", c.templates).paged(c.pageSize, &c.cache.fixed)
		d.strict[mcp.MethodResourcesList] = d.listResources
		d.strict[mcp.MethodResourcesRead] = d.readResource
	}
}

type resourcePage struct {
	Resources  []mcp.Resource `json:"resources"`
	NextCursor string         `json:"nextCursor,omitzero"`
}

// listResources merges a page of what all sources have, which may depend on the
// principal and change at any time.
//
// Spec: MCP 2026-07-28, Resources, Listing Resources.
func (d *Dispatcher) listResources(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) (result, error) {
	after, refusal := parseCursor(req.Params.Cursor)
	if refusal != nil {
		return result{}, refusal
	}
	var page resourcePage
	err := d.invoke(ctx, req, notify, func(call *mcp.Call) (err error) {
		page, err = d.resourcesAfter(ctx, call, after)
		return err
	})
	if err != nil {
		return result{}, err
	}
	return encode(page, &d.catalogue.cache.resources)
}

// resourcesAfter asks each source for one more than fits on the page, to learn
// whether there is another. Of resources with the same URI the first source's
// counts, which is the one that readResource asks first.
func (d *Dispatcher) resourcesAfter(ctx context.Context, call *mcp.Call, after string) (resourcePage, error) {
	size := d.catalogue.pageSize
	all := []mcp.Resource{}
	for _, source := range d.catalogue.sources {
		some, err := source.List(ctx, call, after, size+1)
		if err != nil {
			return resourcePage{}, fmt.Errorf("list resources: %w", err)
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b mcp.Resource) int { return cmp.Compare(a.URI, b.URI) })
	all = slices.CompactFunc(all, func(a, b mcp.Resource) bool { return a.URI == b.URI })
	if len(all) <= size {
		return resourcePage{Resources: all}, nil
	}
	all = all[:size]
	return resourcePage{Resources: all, NextCursor: newCursor(all[len(all)-1].URI)}, nil
}

// readResource asks the sources one after the other until one has the resource.
//
// Spec: MCP 2026-07-28, Resources, Reading Resources.
func (d *Dispatcher) readResource(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) (result, error) {
	uri, ok := mcp.Text(req.Params.URI)
	if !ok {
		return result{}, mcp.InvalidParams("uri must be a string")
	}
	var contents *mcp.ReadResult
	err := d.invoke(ctx, req, notify, func(call *mcp.Call) (err error) {
		contents, err = d.read(ctx, call, uri)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return result{}, mcp.ResourceNotFound(uri)
	case err != nil:
		return askOr(req, err)
	}
	return encode(contents, readHints(req, contents))
}

// read reports fs.ErrNotExist when no source has the resource.
func (d *Dispatcher) read(ctx context.Context, call *mcp.Call, uri string) (*mcp.ReadResult, error) {
	for _, source := range d.catalogue.sources {
		contents, err := source.Read(ctx, call, uri)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && contents == nil:
			return nil, errors.New("a resource source returned neither contents nor an error")
		}
		return contents, err
	}
	return nil, fs.ErrNotExist
}
