package ingress

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/mcphttp"
	"github.com/mcpyard/mcpyard/internal/mcpstdio"
	"github.com/mcpyard/mcpyard/internal/subscription"
	"github.com/mcpyard/mcpyard/internal/worker"
)

// A config has the values of the command's flags.
type config struct {
	cli.Common
	http             string
	stdio            bool
	deadline         time.Duration
	maxBody          cli.Bytes
	queue            int
	maxSubscriptions int
	maxPerPrincipal  int
	origins          cli.List
	hosts            cli.List

	local      bool
	demo       bool
	workers    int
	slots      int
	toolsets   cli.List
	storeDir   string
	natsListen string
	stateKeys  string
	tasks      worker.TasksConfig
}

// localFlags have no meaning without -local.
var localFlags = []string{"demo", "workers", "slots", "toolsets", "store-dir", "nats-listen", "state-keys",
	"task-slots", "max-tasks", "max-tasks-per-principal", "task-ttl", "task-retention"}

// parseConfig reads flags, environment and file, and checks all values.
func parseConfig(args []string, stdout io.Writer) (config, error) {
	cfg := config{maxBody: 4 << 20, toolsets: worker.DefaultToolsets()}
	fs := flag.NewFlagSet("ingress", flag.ContinueOnError)
	cfg.Register(fs)
	fs.StringVar(&cfg.http, "http", "127.0.0.1:8080", "`address` to serve clients at")
	fs.BoolVar(&cfg.stdio, "stdio", false, "serve one client on standard input and output instead of HTTP")
	fs.DurationVar(&cfg.deadline, "deadline", time.Minute, "`time` for each request")
	fs.Var(&cfg.maxBody, "max-body", "largest request, as a `size` such as 4MiB")
	fs.IntVar(&cfg.queue, "queue", 4096, "`number` of requests that wait for each pool when no worker has a free slot")
	fs.IntVar(&cfg.maxSubscriptions, "max-subscriptions", 10_000, "`number` of subscriptions, by which clients listen for changes, at once")
	fs.IntVar(&cfg.maxPerPrincipal, "max-subscriptions-per-principal", 0, "`number` of those that may be of the same principal; 0: all of them")
	fs.Var(&cfg.origins, "allowed-origins", "`origins` of web pages that may send requests, with commas; * for all; this machine's always may")
	fs.Var(&cfg.hosts, "allowed-hosts", "`names` under which clients may reach this address, with commas; * for all; this machine's always may")
	fs.BoolVar(&cfg.local, "local", false, "run NATS and the workers in this process too")
	fs.BoolVar(&cfg.demo, "demo", false, "with -local: play a conversation through the whole path and exit")
	fs.IntVar(&cfg.workers, "workers", 1, "with -local: `number` of workers")
	fs.IntVar(&cfg.slots, "slots", 64, "with -local: `number` of requests that each worker runs at once")
	fs.Var(&cfg.toolsets, "toolsets", "with -local: `names` of the toolsets to serve, with commas, of "+worker.Toolsets())
	fs.StringVar(&cfg.storeDir, "store-dir", "", "with -local: `folder` that keeps what the tools store; empty: a temporary one")
	fs.StringVar(&cfg.natsListen, "nats-listen", "", "with -local: `address` for NATS clients such as the nats command; empty: off")
	fs.StringVar(&cfg.stateKeys, "state-keys", "", "with -local: "+worker.StateKeysUsage)
	cfg.tasks.Register(fs, "with -local: ")
	if err := cli.Parse(fs, args, stdout); err != nil {
		return config{}, err
	}
	return cfg, errors.Join(cfg.Validate(), cfg.validate(), cfg.validateLocal(fs))
}

func (c config) validate() error {
	var errs []error
	if c.deadline <= 0 {
		errs = append(errs, fmt.Errorf("-deadline %s: want more than 0", c.deadline))
	}
	if c.maxBody <= 0 {
		errs = append(errs, fmt.Errorf("-max-body %d: want more than 0", c.maxBody))
	}
	if c.http == "" {
		errs = append(errs, errors.New("-http: want host:port, such as 127.0.0.1:8080"))
	}
	if c.queue < 1 {
		errs = append(errs, fmt.Errorf("-queue %d: want at least 1", c.queue))
	}
	if c.maxSubscriptions < 1 {
		errs = append(errs, fmt.Errorf("-max-subscriptions %d: want at least 1", c.maxSubscriptions))
	}
	if c.maxPerPrincipal < 0 {
		errs = append(errs, fmt.Errorf("-max-subscriptions-per-principal %d: want at least 0", c.maxPerPrincipal))
	}
	return errors.Join(errs...)
}

func (c config) validateLocal(fs *flag.FlagSet) error {
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var errs []error
	if c.stdio && given["http"] {
		errs = append(errs, errors.New("-stdio serves one client instead of -http: leave one of them out"))
	}
	if !c.local {
		for _, name := range localFlags {
			if given[name] {
				errs = append(errs, fmt.Errorf("-%s, which may come from MCPYARD_%s or -config too, needs -local", name, cli.Variable(name)))
			}
		}
		return errors.Join(errs...)
	}
	if given["nats"] {
		errs = append(errs, errors.New("-local runs a NATS of its own: leave out -nats, which may come from MCPYARD_NATS or -config too"))
	}
	if c.demo && c.stdio {
		errs = append(errs, errors.New("-demo and -stdio exclude each other"))
	}
	if c.demo && (!slices.Contains(c.toolsets, "notes") || !slices.Contains(c.toolsets, "basics")) {
		errs = append(errs, errors.New("-demo needs the toolsets notes and basics"))
	}
	if c.workers < 1 || c.slots < 1 {
		errs = append(errs, fmt.Errorf("-workers %d, -slots %d: want at least 1", c.workers, c.slots))
	}
	return errors.Join(append(errs, worker.CheckToolsets(c.toolsets), c.tasks.Validate(max(1, c.slots)))...)
}

func (c config) conn() bus.ConnConfig { return c.Conn("mcpyard ingress") }

func (c config) client(hub *subscription.Hub, bulk *bus.Conn) bus.ClientConfig {
	return bus.ClientConfig{
		Realm:    c.Realm,
		Bulk:     bulk,
		Deadline: c.deadline,
		MaxQueue: c.queue,
		OnEvent:  hub.Publish,
		OnGap:    hub.PublishAll,
	}
}

func (c config) subscriptions() subscription.Config {
	return subscription.Config{MaxSubscriptions: c.maxSubscriptions, MaxPerPrincipal: c.maxPerPrincipal}
}

func (c config) transport(maxRequest func() int64) mcphttp.Config {
	return mcphttp.Config{
		Pool:           c.Pool,
		MaxBody:        int64(c.maxBody),
		MaxRequest:     maxRequest,
		AllowedHosts:   c.hosts,
		AllowedOrigins: c.origins,
	}
}

func (c config) stdioTransport(onStop func()) mcpstdio.Config {
	return mcpstdio.Config{Pool: c.Pool, MaxLine: int64(c.maxBody), Grace: c.Grace, OnStop: onStop}
}

func (c config) worker(bulk *bus.Conn) worker.Config {
	return worker.Config{
		ConsumerConfig: bus.ConsumerConfig{
			Address: bus.Address{Realm: c.Realm, Pool: c.Pool},
			Bulk:    bulk,
			Slots:   c.slots,
			Grace:   c.Grace,
			Version: cli.Version,
		},
		Toolsets:  c.toolsets,
		StateKeys: c.stateKeys,
		Tasks:     c.tasks,
	}
}
