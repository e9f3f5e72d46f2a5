// Package cli has what the commands share: the common flags, where their values
// come from, and the logger that they ask for.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/docker/go-units"
	"github.com/peterbourgon/ff/v3"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Version is the version of the commands, SemVer.
const Version = "0.1.0"

// Common has the flags of every command.
type Common struct {
	NATS        string
	Credentials string
	Realm       string
	Pool        string
	Grace       time.Duration
	Ops         string
	ConnectWait time.Duration
	LogLevel    slog.Level
	LogFormat   string
	Version     bool
}

// Register adds the flags to fs.
func (c *Common) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.NATS, "nats", "nats://127.0.0.1:4222", "`URL` of NATS, or several with commas")
	fs.StringVar(&c.Credentials, "creds", "", "NATS credentials `file`")
	fs.StringVar(&c.Realm, "realm", "main", "`name` that separates deployments on one NATS account")
	fs.StringVar(&c.Pool, "pool", "default", "`name` of the pool of workers")
	fs.DurationVar(&c.Grace, "grace", 30*time.Second, "`time` for what is in flight when the process is told to stop")
	fs.StringVar(&c.Ops, "ops", "", "`address` for health and readiness, such as 127.0.0.1:9090; empty: off")
	fs.DurationVar(&c.ConnectWait, "connect-wait", 5*time.Second, "`time` to wait for NATS at start-up")
	fs.TextVar(&c.LogLevel, "log-level", slog.LevelInfo, "least `level` to log: DEBUG, INFO, WARN or ERROR")
	fs.StringVar(&c.LogFormat, "log-format", "text", "`format` of the log: text or json")
	fs.BoolVar(&c.Version, "version", false, "print the version and exit")
}

// Validate reports everything that is wrong with the values.
func (c *Common) Validate() error {
	errs := []error{bus.Address{Realm: c.Realm, Pool: c.Pool}.Validate()}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		errs = append(errs, fmt.Errorf("-log-format %q: want text or json", c.LogFormat))
	}
	if c.Grace <= 0 {
		errs = append(errs, fmt.Errorf("-grace %s: want more than 0", c.Grace))
	}
	if c.ConnectWait <= 0 {
		errs = append(errs, fmt.Errorf("-connect-wait %s: want more than 0", c.ConnectWait))
	}
	return errors.Join(errs...)
}

// Logger returns the logger that the flags ask for.
func (c *Common) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// Conn returns how to connect to NATS. name tells connections apart.
func (c *Common) Conn(name string) bus.ConnConfig {
	return bus.ConnConfig{
		URL:         c.NATS,
		Credentials: c.Credentials,
		Name:        name + " " + Version,
		Wait:        c.ConnectWait,
	}
}

// Parse sets the flags of fs from args, then from environment variables
// (MCPYARD_ and the flag's name, in capitals, with '_' for '-'), then from the
// file that -config names: lines of a flag's name and its value. It returns
// flag.ErrHelp after it has printed the usage to out, when asked for it.
func Parse(fs *flag.FlagSet, args []string, out io.Writer) error {
	fs.String("config", "", "`file` with a flag's name and its value on each line")
	fs.SetOutput(io.Discard) // errors are returned, in one line
	err := ff.Parse(fs, args,
		ff.WithEnvVarPrefix("MCPYARD"),
		ff.WithConfigFileFlag("config"),
		ff.WithConfigFileParser(ff.PlainParser))
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(out)
		fmt.Fprintf(out, "Usage of %s (each flag also as MCPYARD_… in the environment):\n", fs.Name())
		fs.PrintDefaults()
		return flag.ErrHelp
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err != nil {
		return fmt.Errorf("%w (see -help)", err)
	}
	return nil
}

// UntilSignal returns a context that an interrupt or SIGTERM ends. It takes one
// signal: by the time the context has ended, the next signal ends the process at
// once, as it would have without this. stop must be called.
func UntilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-signals:
		case <-ctx.Done():
		}
		signal.Stop(signals) // before anybody can know of the first one
		cancel()
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

// Listen listens on a TCP address. The error says for whom.
func Listen(ctx context.Context, whom, address string) (net.Listener, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", whom, err)
	}
	return ln, nil
}

// Variable is the end of the name of a flag's environment variable.
func Variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// PrintVersion says which build this is.
func PrintVersion(w io.Writer, command string) {
	fmt.Fprintf(w, "mcpyard %s %s (MCP %s, wire protocol %s, %s)\n", command, Version, mcp.Version, bus.Protocol, runtime.Version())
}

// A List is a flag whose value is several, with commas between them.
type List []string

// String joins the values.
func (l *List) String() string { return strings.Join(*l, ",") }

// Set splits s.
func (l *List) Set(s string) error {
	*l = nil
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	return nil
}

// Bytes is a flag for a size, such as 512KiB or 4MiB.
type Bytes int64

// String formats the size.
func (b *Bytes) String() string { return units.BytesSize(float64(*b)) }

// Set parses s.
func (b *Bytes) Set(s string) error {
	n, err := units.RAMInBytes(s)
	if err != nil {
		return err
	}
	*b = Bytes(n)
	return nil
}
