// Command worker is one of the processes that answer MCP requests: it takes
// them from NATS, runs the tools of its toolsets, and replies. Any number of
// workers make up a pool; none keeps anything of a request that it has answered.
//
//	worker -nats nats://127.0.0.1:4222 -toolsets notes,basics
package main

import (
	"context"
	"os"

	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/worker"
)

func main() {
	cli.Main("worker", func() error {
		return worker.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	})
}
