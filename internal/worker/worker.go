// Package worker puts a worker together: the toolsets that it serves, the
// dispatcher that runs them, and the consumer that takes requests from the bus.
// Run is the program of the command worker; an ingress that runs workers in its
// own process uses New.
package worker

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A Config says what a worker serves and how.
type Config struct {
	bus.ConsumerConfig
	Toolsets  []string      // names from the catalogue
	Own       []mcp.Toolset // those that are not in it
	StateKeys string        // file with the keys for request state; empty: shared through NATS
}

// New puts a worker together. It opens the toolsets, which may create what they
// store in; the consumer takes no request before its Run.
func New(ctx context.Context, conn *bus.Conn, cfg Config, log *slog.Logger) (*bus.Consumer, error) {
	toolsets, err := open(ctx, conn, cfg.Address, cfg.Toolsets)
	if err != nil {
		return nil, err
	}
	keys, err := openKeys(ctx, conn, cfg.Realm, cfg.StateKeys, log)
	if err != nil {
		return nil, err
	}
	dispatcher, err := dispatch.New(dispatch.Config{
		State:    keys,
		Server:   mcp.Implementation{Name: "mcpyard", Version: cfg.Version},
		Toolsets: append(toolsets, cfg.Own...),
		Events:   bus.NewPublisher(conn, cfg.Address, log).Publish,
	}, log)
	if err != nil {
		return nil, fmt.Errorf("build the dispatcher: %w", err)
	}
	cfg.Catalogue, cfg.Repeatable = dispatcher.Digest(), dispatcher.Repeatable
	return bus.NewConsumer(conn, mcp.Chain(dispatcher, dispatch.Log(log)), cfg.ConsumerConfig, log)
}
