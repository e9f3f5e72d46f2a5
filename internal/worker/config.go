package worker

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A config has the values of the command's flags.
type config struct {
	cli.Common
	toolsets  cli.List
	slots     int
	stateKeys string
	replicas  int
	tasks     TasksConfig
}

// StateKeysUsage describes the flag -state-keys, which an ingress with workers of
// its own has too.
const StateKeysUsage = "`file` with keys for what clients keep between two rounds of a request, 32 bytes as base64 on each line, " +
	"the first for sealing; the same for all workers of a pool; empty: a key that they share through NATS"

// ReplicasUsage describes the flag -replicas.
const ReplicasUsage = "`number` of servers that each have what is stored, for what is created from now on; 3 in a cluster of NATS servers"

// CheckReplicas reports a number of replicas that NATS does not take.
func CheckReplicas(n int) error {
	if n < 1 || n > 5 {
		return fmt.Errorf("-replicas %d: want 1 to 5", n)
	}
	return nil
}

// parseConfig reads flags, environment and file, and checks all values.
func parseConfig(args []string, stdout io.Writer) (config, error) {
	cfg := config{toolsets: DefaultToolsets()}
	fs := flag.NewFlagSet("worker", flag.ContinueOnError)
	cfg.Register(fs)
	fs.Var(&cfg.toolsets, "toolsets", "`names` of the toolsets to serve, with commas, of "+Toolsets())
	fs.IntVar(&cfg.slots, "slots", 64, "`number` of requests that run at once")
	fs.StringVar(&cfg.stateKeys, "state-keys", "", StateKeysUsage)
	fs.IntVar(&cfg.replicas, "replicas", 1, ReplicasUsage)
	cfg.tasks.Register(fs, "")
	if err := cli.Parse(fs, args, stdout); err != nil {
		return config{}, err
	}
	errs := []error{cfg.Validate(), CheckToolsets(cfg.toolsets)}
	if cfg.slots < 1 {
		errs = append(errs, fmt.Errorf("-slots %d: want at least 1", cfg.slots))
	}
	return cfg, errors.Join(append(errs, CheckReplicas(cfg.replicas), cfg.tasks.Validate(cfg.slots))...)
}

func (c config) conn() bus.ConnConfig {
	conn := c.Conn("mcpyard worker")
	conn.Buffer = 64 << 20 // results of calls that finish while NATS is away
	return conn
}

func (c config) worker(bulk *bus.Conn, own []mcp.Toolset) Config {
	return Config{
		ConsumerConfig: bus.ConsumerConfig{
			Address: bus.Address{Realm: c.Realm, Pool: c.Pool},
			Bulk:    bulk,
			Slots:   c.slots,
			Grace:   c.Grace,
			Version: cli.Version,
		},
		Toolsets:  c.toolsets,
		Own:       own,
		StateKeys: c.stateKeys,
		Replicas:  c.replicas,
		Tasks:     c.tasks,
	}
}
