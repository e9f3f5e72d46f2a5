// Package embedded runs a nats-server with JetStream inside this process, so
// that MCPYard needs nothing else installed. Programs that have a NATS of their
// own do not import it.
package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

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
type Server struct{ *server.Server }

// Start starts a server and waits until it is ready. Close must be called.
func Start(cfg Config, log *slog.Logger) (*Server, error) {
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
	faults := &logger{log: log.With("component", "nats-server")}
	ns.SetLoggerV2(faults, false, false, false)
	ns.Start()
	s := &Server{ns}
	if !ns.ReadyForConnections(readyWithin) {
		s.Close()
		return nil, errors.Join(fmt.Errorf("the embedded nats-server did not start within %s", readyWithin), faults.last())
	}
	return s, nil
}

// Close stops the server and waits until it has.
func (s *Server) Close() {
	s.Shutdown()
	s.WaitForShutdown()
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
