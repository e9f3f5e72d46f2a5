package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// restoreWithin bounds the wait for the server to take subscriptions again.
const restoreWithin = 2 * time.Second

// A ConnConfig says how to reach NATS.
type ConnConfig struct {
	URL         string        // one or several, separated by commas
	Credentials string        // a credentials file; empty for none
	Name        string        // what the server's monitoring shows
	Wait        time.Duration // how long Connect tries
	InProcess   nats.InProcessConnProvider
	// Buffer keeps what is published while disconnected, in bytes; it is sent
	// after the reconnect. 0 keeps nothing and makes publishing fail at once.
	Buffer int
}

// Bulk returns how the same process connects a second time, for large messages.
func (c ConnConfig) Bulk() ConnConfig {
	c.Name += " bulk"
	return c
}

// A Conn is a connection to NATS that does not give up once it was established:
// it reconnects without limit, and tells how it is meanwhile. Only Close ends it,
// or a server that finds the connection in breach of the NATS protocol. Its
// methods may be called concurrently.
type Conn struct {
	*nats.Conn
	log    *slog.Logger
	closed chan struct{} // closed with the connection

	slowConsumers    atomic.Int64 // how often this process began to lose messages that it did not take in time
	permissionErrors atomic.Int64 // how often the server refused a subject
	maxPayload       atomic.Int64 // of the server, when the connection was made

	mu        sync.Mutex // guards what follows
	connected chan struct{}
	restored  []*func() // called after each reconnect
	up        bool
	since     time.Time // of the last change of up
}

// Connect waits until NATS answers, for at most cfg.Wait. Close ends the
// connection at once; whoever uses it drains first.
func Connect(ctx context.Context, cfg ConnConfig, log *slog.Logger) (*Conn, error) {
	servers, err := withoutUsers(cfg.URL)
	if err != nil {
		return nil, err
	}
	c := &Conn{log: log.With("component", "nats"), closed: make(chan struct{}), connected: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, cfg.Wait)
	defer cancel()
	for {
		nc, err := nats.Connect(cfg.URL, c.options(cfg)...)
		if err == nil {
			c.Conn = nc
			<-c.Connected()
			return c, nil
		}
		switch {
		case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
			return nil, fmt.Errorf("NATS at %s refuses the credentials: %w", servers, err)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf("read NATS credentials: %w", err)
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, fmt.Errorf("connect to NATS at %s: %w", servers, ctx.Err())
			}
			return nil, fmt.Errorf("NATS at %s does not answer within %s: %w", servers, cfg.Wait, err)
		case <-time.After(reconnectDelay(0)):
		}
	}
}

// withoutUsers returns urls without the passwords and tokens that they may hold.
func withoutUsers(urls string) (string, error) {
	servers := strings.Split(urls, ",")
	for i, server := range servers {
		server = strings.TrimSpace(server)
		if !strings.Contains(server, "://") {
			server = "nats://" + server // as nats.go reads it
		}
		u, err := url.Parse(server)
		if err != nil {
			return "", fmt.Errorf("URL %d of NATS cannot be read", i+1) // the cause would quote it
		}
		u.User = nil
		servers[i] = u.String()
	}
	return strings.Join(servers, ","), nil
}

func (c *Conn) options(cfg ConnConfig) []nats.Option {
	buffer := cfg.Buffer
	if buffer == 0 {
		buffer = -1 // nats.go's way to say none
	}
	options := []nats.Option{
		nats.Name(cfg.Name),
		nats.Timeout(min(cfg.Wait, 2*time.Second)),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(buffer),
		nats.IgnoreAuthErrorAbort(), // credentials may be renewed while it tries
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(c.cameUp),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { c.disconnected(err) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { c.reconnected(nc) }),
		nats.ErrorHandler(c.asyncError),
	}
	if cfg.Credentials != "" {
		options = append(options, nats.UserCredentials(cfg.Credentials))
	}
	if cfg.InProcess != nil {
		options = append(options, nats.InProcessServer(cfg.InProcess))
	}
	return options
}

// reconnectDelay is between 50 ms and 2 s, growing and jittered, so that a
// fleet does not come back in step.
func reconnectDelay(attempts int) time.Duration {
	most := min(50*time.Millisecond<<min(attempts, 6), 2*time.Second)
	return 50*time.Millisecond + rand.N(most)
}

func (c *Conn) disconnected(err error) {
	c.setUp(false)
	if err == nil {
		return // closed by this process
	}
	c.log.Warn("disconnected from NATS, reconnecting", slog.Any("error", err))
}

func (c *Conn) reconnected(nc *nats.Conn) {
	c.cameUp(nc)
	c.log.Info("reconnected to NATS", slog.String("server", nc.ConnectedUrlRedacted()))
	c.mu.Lock()
	restored := slices.Clone(c.restored)
	c.mu.Unlock()
	if len(restored) == 0 {
		return
	}
	// The subscriptions have been sent, but the server may not have read them yet.
	// Should the connection be lost meanwhile, this is called again.
	_ = nc.FlushTimeout(restoreWithin)
	for _, f := range restored {
		(*f)()
	}
}

// onReconnect has f called after each reconnect, when all subscriptions are back,
// until cancel is called.
func (c *Conn) onReconnect(f func()) (cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restored = append(c.restored, &f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.restored = slices.DeleteFunc(c.restored, func(g *func()) bool { return g == &f })
	}
}

// asyncError counts what goes wrong beside the calls that nats.go returns an
// error from.
func (c *Conn) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	switch {
	case errors.Is(err, nats.ErrSlowConsumer):
		c.slowConsumers.Add(1)
	case errors.Is(err, nats.ErrPermissionViolation):
		c.permissionErrors.Add(1)
	}
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	c.log.Error("NATS reports an error", slog.String("subscription", subject), slog.Any("error", err))
}

// cameUp takes note of a connection, and of what its server takes.
func (c *Conn) cameUp(nc *nats.Conn) {
	c.maxPayload.Store(nc.MaxPayload())
	c.setUp(true)
}

func (c *Conn) setUp(up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if up == c.up {
		return
	}
	c.up, c.since = up, time.Now()
	if up {
		close(c.connected)
	} else {
		c.connected = make(chan struct{})
	}
}

// Connected returns a channel that is closed while the connection is up.
func (c *Conn) Connected() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connected
}

// Hold returns nil at the end of ctx, and an error when the connection has been
// closed for good before.
func (c *Conn) Hold(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.closed:
		return c.closedError()
	}
}

// closedError says that the connection has been closed, and what the server said
// when it was the server's doing.
func (c *Conn) closedError() error {
	if cause := c.LastError(); cause != nil {
		return fmt.Errorf("%w: %w", nats.ErrConnectionClosed, cause)
	}
	return nats.ErrConnectionClosed
}

// Up tells whether the connection is up, and for how long it has been so, or
// not.
func (c *Conn) Up() (up bool, lasting time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up, time.Since(c.since)
}

// maxInline is the size in bytes of the largest body that NATS takes beside what
// headers and the trailer may add, 0 if that is not known. It is that of the time
// when the connection was made.
func (c *Conn) maxInline() int64 { return max(0, c.maxPayload.Load()-maxOverhead) }

// Counters are for operators, summed up over different connections; the
// caller may change the map.
func Counters(conns ...*Conn) map[string]int64 {
	sums := make(map[string]int64)
	for i, c := range conns {
		if slices.Contains(conns[:i], c) {
			continue
		}
		sums["slowConsumers"] += c.slowConsumers.Load()
		sums["permissionErrors"] += c.permissionErrors.Load()
		sums["reconnects"] += int64(c.Stats().Reconnects) //nolint:gosec // a count
	}
	return sums
}
