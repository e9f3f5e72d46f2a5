package worker

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/cli"
)

// A config has the values of the command's flags.
type config struct {
	cli.Common
	toolsets cli.List
	slots    int
}

// parseConfig reads flags, environment and file, and checks all values.
func parseConfig(args []string, stdout io.Writer) (config, error) {
	cfg := config{toolsets: DefaultToolsets()}
	fs := flag.NewFlagSet("worker", flag.ContinueOnError)
	cfg.Register(fs)
	fs.Var(&cfg.toolsets, "toolsets", "`names` of the toolsets to serve, with commas, of "+Toolsets())
	fs.IntVar(&cfg.slots, "slots", 64, "`number` of requests that run at once")
	if err := cli.Parse(fs, args, stdout); err != nil {
		return config{}, err
	}
	errs := []error{cfg.Validate(), CheckToolsets(cfg.toolsets)}
	if cfg.slots < 1 {
		errs = append(errs, fmt.Errorf("-slots %d: want at least 1", cfg.slots))
	}
	return cfg, errors.Join(errs...)
}

func (c config) conn() bus.ConnConfig {
	conn := c.Conn("mcpyard worker")
	conn.Buffer = 64 << 20 // results of calls that finish while NATS is away
	return conn
}

func (c config) worker() Config {
	return Config{
		ConsumerConfig: bus.ConsumerConfig{
			Address: bus.Address{Realm: c.Realm, Pool: c.Pool},
			Slots:   c.slots,
			Grace:   c.Grace,
			Version: cli.Version,
		},
		Toolsets: c.toolsets,
	}
}
