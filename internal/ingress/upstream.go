package ingress

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
	"github.com/mcpyard/mcpyard/internal/worker"
)

// An upstream is what stands behind the ingress: a connection to NATS and, with
// -local, NATS and the workers themselves.
type upstream struct {
	conn *bus.Conn
	bulk *bus.Conn                   // for large messages
	run  func(context.Context) error // until its context ends, or the connection for good

	closers []func()
}

// close gives back everything, last things first.
func (u *upstream) close() {
	for _, closer := range slices.Backward(u.closers) {
		closer()
	}
}

func (u *upstream) onClose(f func()) { u.closers = append(u.closers, f) }

func openUpstream(ctx context.Context, cfg config, say io.Writer, log *slog.Logger) (*upstream, error) {
	u := &upstream{}
	open := u.openRemote
	if cfg.local {
		open = u.openLocal
	}
	if err := open(ctx, cfg, say, log); err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

func (u *upstream) openRemote(ctx context.Context, cfg config, _ io.Writer, log *slog.Logger) (err error) {
	if u.conn, u.bulk, err = u.connectTwice(ctx, cfg.conn(), log); err != nil {
		return err
	}
	u.run = actor.All(u.conn.Hold, u.bulk.Hold)
	return nil
}

func (u *upstream) openLocal(ctx context.Context, cfg config, say io.Writer, log *slog.Logger) error {
	server, err := u.startServer(cfg, say, log)
	if err != nil {
		return err
	}
	conn := cfg.conn()
	conn.URL, conn.InProcess = server.ClientURL(), server
	if u.conn, u.bulk, err = u.connectTwice(ctx, conn, log); err != nil {
		return err
	}
	conn.Name = cfg.Conn("mcpyard worker").Name
	var workers []func(context.Context) error
	for range cfg.workers {
		c, bulk, err := u.connectTwice(ctx, conn, log)
		if err != nil {
			return err
		}
		w, err := worker.New(ctx, c, cfg.worker(bulk), log)
		if err != nil {
			return err
		}
		workers = append(workers, w.Run)
	}
	u.run = actor.All(append(workers, u.conn.Hold, u.bulk.Hold)...)
	return nil
}

// connectTwice returns a connection, and another one for large messages.
func (u *upstream) connectTwice(ctx context.Context, cfg bus.ConnConfig, log *slog.Logger) (conn, bulk *bus.Conn, err error) {
	if conn, err = u.connect(ctx, cfg, log); err != nil {
		return nil, nil, err
	}
	bulk, err = u.connect(ctx, cfg.Bulk(), log)
	return conn, bulk, err
}

func (u *upstream) connect(ctx context.Context, cfg bus.ConnConfig, log *slog.Logger) (*bus.Conn, error) {
	conn, err := bus.Connect(ctx, cfg, log)
	if err == nil {
		u.onClose(conn.Close)
	}
	return conn, err
}

func (u *upstream) startServer(cfg config, say io.Writer, log *slog.Logger) (*embedded.Server, error) {
	dir := cfg.storeDir
	if dir == "" {
		temporary, err := os.MkdirTemp("", "mcpyard-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for what the tools store: %w", err)
		}
		u.onClose(func() {
			if err := os.RemoveAll(temporary); err != nil {
				log.Warn("temporary folder not removed", slog.Any("error", err))
			}
		})
		dir = temporary
		fmt.Fprintf(say, "What the tools store is kept in %s until this process ends; -store-dir keeps it longer\n", dir)
	}
	server, err := embedded.Start(embedded.Config{StoreDir: dir, Listen: cfg.natsListen}, log)
	if err != nil {
		return nil, err
	}
	u.onClose(server.Close)
	if cfg.natsListen != "" {
		fmt.Fprintf(say, "NATS at %s\n", server.ClientURL())
	}
	return server, nil
}
