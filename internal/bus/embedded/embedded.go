// Package embedded runs a nats-server with JetStream inside this process, so
// that MCPYard needs nothing else installed. Programs that have a NATS of their
// own do not import it.
package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// readyWithin is how long the server may take to start.
const readyWithin = 10 * time.Second

// A Config says how the server runs.
type Config struct {
	StoreDir string // JetStream's files
	// Listen is the host:port for connections of other processes; empty for
	// in-process connections only. Port 0 takes any free one.
	Listen string
}

// A Server is a running nats-server. It implements nats.InProcessConnProvider.
type Server struct {
	*server.Server
	lock *flock.Flock
}

// Start starts a server and waits until it is ready. Close must be called. It is
// an error if another process uses StoreDir: each would overwrite what the other
// has stored.
func Start(cfg Config, log *slog.Logger) (*Server, error) {
	lock, err := lockDir(cfg.StoreDir)
	if err != nil {
		return nil, err
	}
	s, err := start(cfg, log)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	s.lock = lock
	return s, nil
}

func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "mcpyard.lock"))
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	case !locked:
		return nil, fmt.Errorf("%s is in use by another process; to share what is stored, run a nats-server and connect both to it", dir)
	}
	return lock, nil
}

func start(cfg Config, log *slog.Logger) (*Server, error) {
	options := &server.Options{
		ServerName: "mcpyard-embedded",
		JetStream:  true,
		StoreDir:   cfg.StoreDir,
		DontListen: cfg.Listen == "",
		NoSigs:     true,
	}
	if cfg.Listen != "" {
		host, port, err := hostPort(cfg.Listen)
		if err != nil {
			return nil, err
		}
		options.Host, options.Port = host, port
	}
	ns, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("configure the embedded nats-server: %w", err)
	}
	faults := newLogger(log.With("component", "nats-server"))
	ns.SetLoggerV2(faults, false, false, false)
	ns.Start()
	if err := await(ns, faults.fatal); err != nil {
		ns.Shutdown()
		ns.WaitForShutdown()
		return nil, fmt.Errorf("the embedded nats-server did not start: %w", err)
	}
	return &Server{Server: ns}, nil
}

// await returns nil once ns takes connections.
func await(ns *server.Server, fatal <-chan error) error {
	const glance = 50 * time.Millisecond
	for range readyWithin / glance {
		if ns.ReadyForConnections(glance) {
			return nil
		}
		select {
		case err := <-fatal:
			return err
		default:
		}
	}
	return fmt.Errorf("it is not ready after %s", readyWithin)
}

// Close stops the server and waits until it has.
func (s *Server) Close() {
	s.Shutdown()
	s.WaitForShutdown()
	_ = s.lock.Unlock() // it ends with the process at the latest
}

func hostPort(listen string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("address for NATS clients: %w", err)
	}
	port, err = strconv.Atoi(service)
	if err != nil {
		return "", 0, fmt.Errorf("address for NATS clients: port %q is no number", service)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}
