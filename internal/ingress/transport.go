package ingress

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"

	"github.com/mcpyard/mcpyard/internal/actor"
	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/mcphttp"
	"github.com/mcpyard/mcpyard/internal/mcpstdio"
)

// A transport is how clients reach this process.
type transport struct {
	run      func(context.Context) error
	close    func()
	announce func(io.Writer)
	url      string // of the HTTP server; empty for stdio
}

// A service is what a transport serves. stop is called when it takes no more
// requests, and ends those that would not end by themselves. maxRequest tells
// the size of the largest request that the handler takes.
type service struct {
	mcp.Handler
	stop       func()
	maxRequest func() int64
}

// openTransport takes what the transport needs, so that a taken port is an
// error at start-up, and serves nothing before run.
func openTransport(ctx context.Context, cfg config, s service, stdin io.Reader, stdout io.Writer, log *slog.Logger) (*transport, error) {
	if cfg.stdio {
		return &transport{
			run:      mcpstdio.New(s, stdin, stdout, cfg.stdioTransport(s.stop), log).Run,
			close:    func() {},
			announce: func(w io.Writer) { fmt.Fprintln(w, "MCP on standard input and output, one message a line") },
		}, nil
	}
	handler, err := mcphttp.New(s, cfg.transport(s.maxRequest), log)
	if err != nil {
		return nil, err
	}
	address := cfg.http
	if cfg.demo {
		address = "127.0.0.1:0" // it talks to nobody else
	}
	ln, err := cli.Listen(ctx, "clients", address)
	if err != nil {
		return nil, err
	}
	server := mcphttp.NewServer(handler)
	server.RegisterOnShutdown(s.stop)
	url := "http://" + reachable(ln.Addr())
	return &transport{
		run:      actor.HTTP(server, ln, cfg.Grace),
		close:    func() { ln.Close() },
		announce: func(w io.Writer) { fmt.Fprintf(w, welcome, url, url, url) },
		url:      url,
	}, nil
}

// reachable is addr as a client on this machine writes it, also if it stands for
// all addresses.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

const welcome = `MCP at %s/mcp, plain JSON-RPC at %s/rpc. Try:

curl -s %s/mcp -H 'Content-Type: application/json' \
  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'

`
