// Package worker puts a worker together: the toolsets that it serves, the
// dispatcher that runs them, and the consumer that takes requests from the bus.
// Run is the program of the command worker; an ingress that runs workers in its
// own process uses New.
package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/task"
)

// A Config says what a worker serves and how.
type Config struct {
	bus.ConsumerConfig
	Toolsets  []string      // names from the catalogue
	Own       []mcp.Toolset // those that are not in it
	StateKeys string        // file with the keys for request state; empty: shared through NATS
	Replicas  int           // of what is stored in JetStream; 0 means 1
	Tasks     TasksConfig
}

func (c Config) replicas() int { return cmp.Or(c.Replicas, 1) }

// A Worker is a consumer of requests, and a runner of tasks where there is
// JetStream.
type Worker struct {
	*bus.Consumer
	runner *task.Runner // nil: no tasks
	exec   task.Executor
}

// Run takes requests and tasks until ctx ends, and returns when those that it has
// are done.
func (w *Worker) Run(ctx context.Context) error {
	if w.runner == nil {
		return w.Consumer.Run(ctx)
	}
	return actor.All(w.Consumer.Run, func(ctx context.Context) error { return w.runner.Run(ctx, w.exec) })(ctx)
}

// New puts a worker together. It opens the toolsets, which may create what they
// store in; it takes nothing before its Run.
func New(ctx context.Context, conn *bus.Conn, cfg Config, log *slog.Logger) (*Worker, error) {
	toolsets, err := open(ctx, conn, cfg)
	if err != nil {
		return nil, err
	}
	keys, err := openKeys(ctx, conn, cfg, log)
	if err != nil {
		return nil, err
	}
	w := &Worker{}
	dispatching := dispatch.Config{
		Keys:     keys,
		Server:   mcp.Implementation{Name: "mcpyard", Version: cfg.Version},
		Toolsets: append(toolsets, cfg.Own...),
		Events:   bus.NewPublisher(conn, cfg.Address, log).Publish,
	}
	cfg.ID = bus.NewID()
	if err := w.openTasks(ctx, conn, cfg, dispatching.Events, log); err != nil {
		return nil, err
	}
	if w.runner != nil {
		dispatching.Tasks = w.runner
	}
	dispatcher, err := dispatch.New(dispatching, log)
	if err != nil {
		return nil, fmt.Errorf("build the dispatcher: %w", err)
	}
	w.exec = dispatcher
	cfg.Catalogue, cfg.Repeatable = dispatcher.Digest(), dispatcher.Repeatable
	w.Consumer, err = bus.NewConsumer(conn, mcp.Chain(dispatcher, dispatch.Log(log)), cfg.ConsumerConfig, log)
	return w, err
}
