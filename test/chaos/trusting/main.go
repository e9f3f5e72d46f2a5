// Command trusting is an ingress that takes its callers' word for who they are:
// the first element of the path is the principal. Its arguments are flags, and
// then the principals that there are. It stands in for an ingress that
// authenticates its callers.
//
//	trusting -nats nats://127.0.0.1:4222 -http 127.0.0.1:8080 alice bob
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/mcphttp"
	"github.com/mcpyard/mcpyard/internal/ops"
)

func main() {
	var cfg config
	flag.StringVar(&cfg.nats, "nats", "", "`URL` of NATS")
	flag.StringVar(&cfg.http, "http", "", "`address` to serve clients at")
	flag.DurationVar(&cfg.deadline, "deadline", time.Minute, "`time` for each request")
	flag.Parse()
	cfg.principals = flag.Args()
	cli.Main("trusting", func() error { return run(context.Background(), cfg) })
}

type config struct {
	nats, http string
	deadline   time.Duration
	principals []string
}

// grace is how long the requests in flight have at the end.
const grace = 5 * time.Second

func run(ctx context.Context, cfg config) (err error) {
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	conn, err := bus.Connect(ctx, bus.ConnConfig{URL: cfg.nats, Name: "trusting", Wait: grace}, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	client, err := bus.OpenClient(conn, bus.ClientConfig{Realm: "main", Deadline: cfg.deadline}, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	handler, err := doors(client, cfg.principals, log)
	if err != nil {
		return err
	}
	clients, err := cli.Listen(ctx, "clients", cfg.http)
	if err != nil {
		return err
	}
	operators, err := cli.Listen(ctx, "operators", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, clients.Close())
	}
	status := func() ops.Status {
		return ops.Status{Ready: true, Counters: map[string]int64{"workers": int64(client.Workers("default"))}}
	}
	fmt.Fprintf(os.Stdout, "Health and readiness at http://%s/healthz and /readyz\n", operators.Addr())
	return actor.InFront(
		actor.HTTP(mcphttp.NewServer(handler), clients, grace),
		actor.HTTP(ops.NewServer(status), operators, grace),
	)(ctx)
}

// doors serves each principal at a path of its own.
func doors(next mcp.Handler, principals []string, log *slog.Logger) (http.Handler, error) {
	mux := http.NewServeMux()
	for _, principal := range principals {
		as := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
			req.Principal = principal
			return next.Handle(ctx, req, notify)
		})
		h, err := mcphttp.New(as, mcphttp.Config{}, log)
		if err != nil {
			return nil, err
		}
		mux.Handle("/"+principal+"/", http.StripPrefix("/"+principal, h))
	}
	return mux, nil
}
