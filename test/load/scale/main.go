// Command scale measures what a pool costs that is larger than one machine: 1,000
// workers and 50 ingresses on one nats-server, all in this process. Workers and
// ingresses are those of the bus, and so are adverts; the calls only sleep.
//
//	go run ./test/load/scale
//
// It prints how many adverts there are when nothing happens, what an ingress of
// its own process spends on them, and, with calls arriving at random at a share of
// what the workers can do, how equally busy the workers are. What a choice and an
// advert cost is measured beside the code:
//
//	go test ./internal/bus -run '^$' -bench 'Roster|Advert'
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/test/load/rig"
)

type settings struct {
	workers, slots, ingresses int
	load                      float64
	mean                      time.Duration // of a call
	idle, duration            time.Duration
}

// rate is the number of calls a second that make up the load.
func (s settings) rate() float64 {
	return s.load * float64(s.workers*s.slots) / s.mean.Seconds()
}

func main() {
	var s settings
	flag.IntVar(&s.workers, "workers", 1000, "`number` of workers")
	flag.IntVar(&s.slots, "slots", 8, "`number` of calls that each runs at once")
	flag.IntVar(&s.ingresses, "ingresses", 50, "`number` of ingresses")
	flag.Float64Var(&s.load, "load", 0.7, "`share` of the workers' capacity to use")
	flag.DurationVar(&s.mean, "call", 8*time.Second, "`time` of a call; they vary by half of it")
	flag.DurationVar(&s.idle, "idle", 10*time.Second, "`time` to count adverts without calls")
	flag.DurationVar(&s.duration, "duration", 3*time.Minute, "`time` to send calls")
	listen := flag.String("listen", "", "be the ingress process of another scale, on the NATS at `url`")
	flag.Parse()
	run := func() error { return run(context.Background(), s, os.Stdout) }
	if *listen != "" {
		run = func() error { return hear(context.Background(), *listen, s.idle) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out io.Writer) (err error) {
	r, err := rig.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f, err := startFleet(ctx, r, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d workers of %d slots, %d ingresses\n", s.workers, s.slots, s.ingresses)
	if err := f.settle(); err != nil {
		return err
	}
	adverts := f.adverts.Load()
	spent, err := otherIngress(ctx, r.URL, s.idle)
	if err != nil {
		return err
	}
	each := float64(f.adverts.Load()-adverts) / s.idle.Seconds()
	fmt.Fprintf(out, "without calls: %.0f adverts a second, %.0f deliveries; an ingress spends %s on them\n",
		each, each*float64(s.ingresses+1), spent)
	return f.measure(ctx, s, out)
}

// A fleet is workers and ingresses, and somebody who counts what they say.
type fleet struct {
	rig     *rig.Rig
	workers []worker
	clients []*bus.Client

	adverts, tellings, bounces atomic.Int64
}

func startFleet(ctx context.Context, r *rig.Rig, s settings) (*fleet, error) {
	f := &fleet{rig: r, workers: make([]worker, s.workers)}
	if err := f.count(ctx); err != nil {
		return nil, err
	}
	for i := range s.ingresses {
		c, err := r.Open(ctx)
		if err != nil {
			return nil, err
		}
		f.clients = append(f.clients, c)
		if i > 0 {
			continue
		}
		if err := f.startWorkers(ctx, s); err != nil { // with somebody there who tells them their tempo
			return nil, err
		}
	}
	return f, nil
}

func (f *fleet) startWorkers(ctx context.Context, s settings) error {
	const share = 50 // workers of one connection
	var conn *bus.Conn
	for i := range f.workers {
		if i%share == 0 {
			var err error
			if conn, err = f.rig.Connect(ctx); err != nil {
				return err
			}
		}
		f.workers[i].mean = s.mean
		if err := f.rig.Work(ctx, conn, s.slots, f.workers[i].handle); err != nil {
			return err
		}
	}
	return nil
}

// count counts adverts, what ingresses tell workers of their tempo, and replies that
// a worker had no free slot.
func (f *fleet) count(ctx context.Context) error {
	conn, err := f.rig.Connect(ctx)
	if err != nil {
		return err
	}
	realm := bus.Protocol + "." + rig.Address.Realm + "."
	for subject, count := range map[string]nats.MsgHandler{
		"*.adv.*":   func(*nats.Msg) { f.adverts.Add(1) },
		"*.w.*.ctl": func(*nats.Msg) { f.tellings.Add(1) },
		"r.>": func(m *nats.Msg) {
			if strings.HasPrefix(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], "b-") {
				f.bounces.Add(1)
			}
		},
	} {
		if _, err := conn.Subscribe(realm+subject, count); err != nil {
			return err
		}
	}
	return conn.Flush()
}

// settle waits until all ingresses know all workers, and no worker is told another
// tempo.
func (f *fleet) settle() error {
	for _, c := range f.clients {
		if err := f.rig.Knows(c, len(f.workers)); err != nil {
			return err
		}
	}
	for before := int64(-1); before != f.tellings.Load(); time.Sleep(2 * time.Second) {
		before = f.tellings.Load()
	}
	return nil
}

// otherIngress starts an ingress in a process of its own, and returns what it says
// of itself after that time.
func otherIngress(ctx context.Context, url string, listen time.Duration) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, "-listen", url, "-idle", listen.String())
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	return strings.TrimSpace(string(said)), err
}

// hear is the ingress in a process of its own.
func hear(ctx context.Context, url string, listen time.Duration) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	conn, err := bus.Connect(ctx, bus.ConnConfig{URL: url, Name: "scale", Wait: 30 * time.Second}, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	c, err := bus.OpenClient(conn, bus.ClientConfig{Realm: rig.Address.Realm}, log)
	if err != nil {
		return err
	}
	before := rig.CPU()
	time.Sleep(listen)
	spent := rig.CPU() - before
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "%.2f %% of a core\n", 100*spent.Seconds()/listen.Seconds())
	return errors.Join(out.Flush(), c.Close())
}
