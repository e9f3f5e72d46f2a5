package ingress

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/embedded"
)

// breach relays connections to a NATS server and, after a while, tells the client on
// the n-th of them that it has broken the protocol. A client of nats.go does not come
// back then.
func breach(t *testing.T, server string, n int) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		for i := 1; ; i++ {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			go relay(client, server)
			if i == n {
				time.AfterFunc(time.Second, func() { _, _ = io.WriteString(client, "-ERR 'Maximum Payload Violation'\r\n") })
			}
		}
	}()
	return ln.Addr().String()
}

func relay(client net.Conn, server string) {
	defer client.Close()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer upstream.Close()
	go func() { _, _ = io.Copy(upstream, client) }()
	_, _ = io.Copy(client, upstream)
}

// TestIngressDoesNotOutliveItsConnection holds that a process which can never
// answer again ends, for whoever restarts it.
func TestIngressDoesNotOutliveItsConnection(t *testing.T) {
	s, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	for n := range 2 { // the one for large messages too
		address := breach(t, strings.TrimPrefix(s.ClientURL(), "nats://"), n+1)
		ended := make(chan error, 1)
		go func() {
			ended <- Run(t.Context(), []string{"-nats", "nats://" + address, "-http", "127.0.0.1:0"}, nil, io.Discard, io.Discard)
		}()
		select {
		case err := <-ended:
			assert.ErrorContains(t, err, "Maximum Payload Violation")
		case <-time.After(10 * time.Second):
			t.Fatal("the ingress runs on")
		}
	}
}
