package worker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools/basics"
	"github.com/mcpyard/mcpyard/internal/tools/everything"
	"github.com/mcpyard/mcpyard/internal/tools/notes"
)

// An entry is a toolset that a worker can serve.
type entry struct {
	name string
	open func(ctx context.Context, conn *bus.Conn, cfg Config) (mcp.Toolset, error)
}

// catalogue lists every toolset of this build.
func catalogue() []entry {
	return []entry{
		{"notes", openNotes},
		{"basics", func(context.Context, *bus.Conn, Config) (mcp.Toolset, error) { return basics.Toolset(), nil }},
		{"everything", func(context.Context, *bus.Conn, Config) (mcp.Toolset, error) { return everything.Toolset(), nil }},
	}
}

// openNotes opens the notes of a pool, which live in a bucket of its own.
func openNotes(ctx context.Context, conn *bus.Conn, cfg Config) (mcp.Toolset, error) {
	bucket, err := bus.OpenBucket(ctx, conn.Conn, "mcpyard-notes-"+cfg.Realm+"-"+cfg.Pool, cfg.replicas())
	if err != nil {
		return mcp.Toolset{}, err
	}
	return notes.Toolset(bucket, time.Now), nil
}

// DefaultToolsets are served when nothing else is asked for.
func DefaultToolsets() []string { return []string{"notes", "basics"} }

// Toolsets names every toolset of the catalogue.
func Toolsets() string {
	var names []string
	for _, e := range catalogue() {
		names = append(names, e.name)
	}
	return strings.Join(names, ", ")
}

// CheckToolsets reports names that are not in the catalogue.
func CheckToolsets(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("no toolset given; there are %s", Toolsets())
	}
	var unknown []string
	for _, name := range names {
		if !slices.ContainsFunc(catalogue(), func(e entry) bool { return e.name == name }) {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("unknown toolset %s; there are %s", strings.Join(unknown, ", "), Toolsets())
	}
	return nil
}

// open opens the toolsets that cfg names, in the catalogue's order.
func open(ctx context.Context, conn *bus.Conn, cfg Config) ([]mcp.Toolset, error) {
	if err := CheckToolsets(cfg.Toolsets); err != nil {
		return nil, err
	}
	var toolsets []mcp.Toolset
	for _, e := range catalogue() {
		if !slices.Contains(cfg.Toolsets, e.name) {
			continue
		}
		toolset, err := e.open(ctx, conn, cfg)
		if err != nil {
			return nil, fmt.Errorf("toolset %s: %w", e.name, err)
		}
		toolsets = append(toolsets, toolset)
	}
	return toolsets, nil
}
