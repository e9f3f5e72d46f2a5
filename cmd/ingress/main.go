// Command ingress takes MCP requests from clients, over HTTP or stdio, and has
// each answered by a worker on NATS. With -local the workers and NATS itself run
// in the same process.
//
//	ingress -local
//	ingress -nats nats://127.0.0.1:4222 -http 127.0.0.1:8080
//	ingress -local -stdio
package main

import (
	"context"
	"os"

	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/ingress"
)

func main() {
	cli.Main("ingress", func() error {
		return ingress.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	})
}
