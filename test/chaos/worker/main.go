// Command worker is a worker whose tools write down in a journal what becomes of
// their calls. Its first argument is the journal's file, the others are those of
// the command of the same name.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/worker"
	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

func main() {
	cli.Main("worker", func() error { return run(context.Background(), os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want a file for the journal, and then the flags of a worker")
	}
	j, err := journal.Open(args[0])
	if err != nil {
		return err
	}
	defer j.Close()
	return worker.Run(ctx, args[1:], os.Stdout, os.Stderr, toolset(j))
}
