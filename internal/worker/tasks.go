package worker

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/task"
)

// A TasksConfig says how a worker runs tasks, and what counts for all of its pool.
type TasksConfig struct {
	Slots           int           // of the worker's slots, how many may be taken by tasks; 0 means three quarters
	Max             int           // tasks of the pool that have not ended; 0 means 100,000
	MaxPerPrincipal int           // of these of one principal; 0: as many as there may be
	TTL             time.Duration // how long a task may take; 0 means 24 h
	Retention       time.Duration // how long it is kept after it has ended; 0 means 1 h
}

// Register adds flags for tasks to fs. prefix begins their descriptions.
func (c *TasksConfig) Register(fs *flag.FlagSet, prefix string) {
	fs.IntVar(&c.Slots, "task-slots", 0, prefix+"`number` of the slots that tasks may take, the rest being for short calls; 0: three quarters")
	fs.IntVar(&c.Max, "max-tasks", 100_000, prefix+"`number` of tasks of the pool that have not ended; counts when the pool's first worker starts")
	fs.IntVar(&c.MaxPerPrincipal, "max-tasks-per-principal", 0, prefix+"`number` of those that may be of the same principal; 0: all of them")
	fs.DurationVar(&c.TTL, "task-ttl", 24*time.Hour, prefix+"`time` that a task may take")
	fs.DurationVar(&c.Retention, "task-retention", time.Hour, prefix+"`time` that a task is kept after it has ended")
}

// Validate reports what is wrong, for a worker with that many slots.
func (c *TasksConfig) Validate(slots int) error {
	var errs []error
	if c.Slots < 0 || c.Slots > slots {
		errs = append(errs, fmt.Errorf("-task-slots %d: want at most the %d of -slots", c.Slots, slots))
	}
	if c.Max < 1 || c.MaxPerPrincipal < 0 {
		errs = append(errs, fmt.Errorf("-max-tasks %d, -max-tasks-per-principal %d: want at least 1 and 0", c.Max, c.MaxPerPrincipal))
	}
	if c.TTL < time.Minute || c.Retention < time.Second {
		errs = append(errs, fmt.Errorf("-task-ttl %s, -task-retention %s: want at least 1m and 1s", c.TTL, c.Retention))
	}
	return errors.Join(errs...)
}

// slots is how many of all slots tasks may take.
func (c *TasksConfig) slots(all int) int { return cmp.Or(c.Slots, max(1, all*3/4)) }

// openTasks gives w a runner, unless there is no JetStream.
func (w *Worker) openTasks(ctx context.Context, conn *bus.Conn, cfg Config, events func(mcp.Event), log *slog.Logger) error {
	storage, err := bus.OpenTasks(ctx, conn, bus.TasksConfig{
		Address:         cfg.Address,
		Replicas:        cfg.Replicas,
		MaxTasks:        cfg.Tasks.Max,
		MaxPerPrincipal: cfg.Tasks.MaxPerPrincipal,
	}, log)
	if errors.Is(err, bus.ErrNoJetStream) {
		log.WarnContext(ctx, "no tasks: there is no JetStream to keep them in")
		return nil
	}
	if err != nil {
		return err
	}
	w.runner = task.NewRunner(task.NewService(storage, task.Config{
		Worker:    cfg.ID,
		TTL:       cfg.Tasks.TTL,
		Retention: cfg.Tasks.Retention,
		Events:    events,
		Slots:     cfg.Tasks.slots(cmp.Or(cfg.Slots, bus.DefaultSlots)),
		Occupy:    func() { w.OccupyForTask() },
		Vacate:    func() { w.VacateTask() },
		Grace:     cfg.Grace,
	}, log))
	return nil
}
