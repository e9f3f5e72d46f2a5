package worker

import (
	"context"
	"fmt"
	"io"
	"time"

	oklog "github.com/oklog/run"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/ops"
)

// Run is the command without the process. args are its arguments, without the
// command's name. It returns nil after a signal or a cancelled ctx, once every
// actor has returned; flag.ErrHelp after printing the usage.
//
// It serves own beside the toolsets that args ask for, so that another command
// can be a worker of toolsets that are not in the catalogue.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, own ...mcp.Toolset) error {
	cfg, err := parseConfig(args, stdout)
	if err != nil {
		return err
	}
	if cfg.Version {
		cli.PrintVersion(stdout, "worker")
		return nil
	}
	log := cfg.Logger(stderr)
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()

	conn, err := bus.Connect(ctx, cfg.conn(), log)
	if err != nil {
		return err
	}
	defer conn.Close()
	bulk, err := bus.Connect(ctx, cfg.conn().Bulk(), log)
	if err != nil {
		return err
	}
	defer bulk.Close()
	consumer, err := New(ctx, conn, cfg.worker(bulk, own), log)
	if err != nil {
		return err
	}

	run := consumer.Run
	if cfg.Ops != "" {
		ln, err := cli.Listen(ctx, "operators", cfg.Ops)
		if err != nil {
			return err
		}
		defer ln.Close()
		fmt.Fprintf(stdout, "Health and readiness at http://%s/healthz and /readyz\n", ln.Addr())
		// Behind the consumer, so that operators see it drain.
		run = actor.InFront(run, actor.HTTP(ops.NewServer(status(conn, bulk, consumer)), ln, cfg.Grace))
	}
	var g oklog.Group
	g.Add(actor.New(ctx, log, "consumer", run))
	fmt.Fprintf(stdout, "Starting worker %s: %s in the pool %s of the realm %s, %d requests at once\n",
		consumer.ID(), &cfg.toolsets, cfg.Pool, cfg.Realm, cfg.slots)
	return g.Run()
}

func status(conn, bulk *bus.Conn, consumer *Worker) func() ops.Status {
	return func() ops.Status {
		s := ops.Status{Ready: consumer.Ready(), Counters: bus.Counters(conn, bulk)}
		if up, lasting := conn.Up(); !up {
			s.Reason = fmt.Sprintf("no connection to NATS for %s, reconnecting", lasting.Round(time.Second))
		} else if !s.Ready {
			s.Reason = "starting or draining"
		}
		return s
	}
}
