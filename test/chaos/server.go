package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpyard/mcpyard/test/process"
)

// A server is a nats-server.
type server struct {
	node

	address string // for NATS clients
	cluster string // for the other servers
	monitor string // for operators
}

func (s *server) url() string { return "nats://" + s.address }

// addServers adds the nats-servers of the layout, which know each other.
func (f *fleet) addServers(ctx context.Context, l layout) error {
	for i := range max(1, l.servers) {
		s := &server{node: node{name: fmt.Sprintf("nats-server-%d", i+1), path: filepath.Join(f.bin, "nats-server")}}
		for _, address := range []*string{&s.address, &s.cluster, &s.monitor} {
			var err error
			if *address, err = freeAddress(ctx); err != nil {
				return err
			}
		}
		f.servers = append(f.servers, s)
	}
	for _, s := range f.servers {
		file := filepath.Join(f.dir, s.name+".conf")
		if err := os.WriteFile(file, []byte(f.serverConfig(s, l)), 0o600); err != nil {
			return err
		}
		s.args = []string{"-c", file}
		s.ready = s.serves
	}
	return nil
}

func (f *fleet) serverConfig(s *server, l layout) string {
	var text strings.Builder
	fmt.Fprintf(&text, "server_name: %s\nlisten: %q\nhttp: %q\n", s.name, s.address, s.monitor)
	fmt.Fprintf(&text, "jetstream { store_dir: %q }\n", filepath.Join(f.dir, s.name))
	fmt.Fprintf(&text, "lame_duck_grace_period: 1s\nlame_duck_duration: 30s\n")
	if l.maxPayload > 0 {
		fmt.Fprintf(&text, "max_payload: %d\n", l.maxPayload)
	}
	if len(f.servers) > 1 {
		var routes []string
		for _, other := range f.servers {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+other.cluster))
		}
		fmt.Fprintf(&text, "cluster { name: chaos, listen: %q, routes: [%s] }\n", s.cluster, strings.Join(routes, ", "))
	}
	return text.String()
}

// serves waits until the server takes clients and, in a cluster, has joined it.
func (s *server) serves(ctx context.Context, n *node) error {
	if _, err := n.running.Says(ctx, process.SaysServer); err != nil {
		return err
	}
	return eventually(ctx, func() (bool, error) {
		var health struct{ Status, Error string }
		err := getJSON(ctx, "http://"+s.monitor+"/healthz", &health)
		if err == nil && health.Error != "" {
			err = fmt.Errorf("health: %s", health.Error)
		}
		return health.Status == "ok", err
	})
}

// subscriptions is how many the server has, of all its clients.
func (s *server) subscriptions(ctx context.Context) (float64, error) {
	var v struct{ Subscriptions float64 }
	return v.Subscriptions, getJSON(ctx, "http://"+s.monitor+"/varz", &v)
}
