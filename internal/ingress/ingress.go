// Package ingress is the program of the command ingress: it takes MCP requests
// from clients and has each answered by a worker on NATS. Start at Run; the
// process is built from these parts, those behind NATS only with -local:
//
//	transport ─▶ subscription.Hub ─▶ bus.Client ─▶ NATS ─▶ bus.Consumer ─▶ dispatcher ─▶ tools
//	                                               ╰─────────────── upstream ────────────────╯
package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	oklog "github.com/oklog/run"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/ops"
	"github.com/mcpyard/mcpyard/internal/subscription"
)

// Run is the command without the process. args are its arguments, without the
// command's name. It returns nil after a signal, a cancelled ctx, the end of the
// demo or, with -stdio, of the input, once every actor has returned;
// flag.ErrHelp after printing the usage.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	cfg, err := parseConfig(args, stdout)
	if err != nil {
		return err
	}
	if cfg.Version {
		cli.PrintVersion(stdout, "ingress")
		return nil
	}
	log := cfg.Logger(stderr)
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	say := stdout
	if cfg.stdio {
		say = stderr // standard output is for the protocol alone
	}

	upstream, err := openUpstream(ctx, cfg, say, log)
	if err != nil {
		return err
	}
	defer upstream.close()
	hub := subscription.NewHub(cfg.subscriptions(), log)
	client, err := bus.OpenClient(upstream.conn, cfg.client(hub, upstream.bulk), log) //nolint:contextcheck // it ends with Close
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	transport, err := openTransport(ctx, cfg, service{hub.Middleware(client), hub.Close, client.MaxRequest}, stdin, stdout, log)
	if err != nil {
		return err
	}
	defer transport.close()

	run := actor.InFront(transport.run, upstream.run)
	if cfg.Ops != "" {
		ln, err := cli.Listen(ctx, "operators", cfg.Ops)
		if err != nil {
			return err
		}
		defer ln.Close()
		fmt.Fprintf(say, "Health and readiness at http://%s/healthz and /readyz\n", ln.Addr())
		// Behind all that serves clients, so that operators see it stop.
		run = actor.InFront(run, actor.HTTP(ops.NewServer(status(ctx, cfg, upstream, client, hub)), ln, cfg.Grace))
	}
	var g oklog.Group
	g.Add(actor.New(ctx, log, "transport", run))
	if cfg.demo {
		g.Add(actor.New(ctx, log, "demo", func(ctx context.Context) error { return playDemo(ctx, transport.url, stdout) }))
	} else {
		transport.announce(say)
	}
	return g.Run()
}

// status tells that the process stops from the end of ctx on.
func status(ctx context.Context, cfg config, u *upstream, client *bus.Client, hub *subscription.Hub) func() ops.Status {
	return func() ops.Status {
		up, lasting := u.conn.Up()
		s := ops.Status{Ready: up && ctx.Err() == nil, Counters: bus.Counters(u.conn, u.bulk)}
		s.Counters["workers"] = int64(client.Workers(cfg.Pool))
		s.Counters["subscriptions"] = int64(hub.Subscriptions())
		switch {
		case !up:
			s.Reason = fmt.Sprintf("no connection to NATS for %s, reconnecting", lasting.Round(time.Second))
		case !s.Ready:
			s.Reason = "stopping"
		}
		return s
	}
}
