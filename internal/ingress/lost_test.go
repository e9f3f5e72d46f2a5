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

// breach relays one connection to a NATS server and, after a while, tells the client
// that it has broken the protocol. A client of nats.go does not come back then.
func breach(t *testing.T, server string) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		upstream, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer upstream.Close()
		go func() { _, _ = io.Copy(upstream, client) }()
		time.AfterFunc(time.Second, func() { _, _ = io.WriteString(client, "-ERR 'Maximum Payload Violation'\r\n") })
		_, _ = io.Copy(client, upstream)
	}()
	return ln.Addr().String()
}

// TestIngressDoesNotOutliveItsConnection holds that a process which can never
// answer again ends, for whoever restarts it.
func TestIngressDoesNotOutliveItsConnection(t *testing.T) {
	s, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	relay := breach(t, strings.TrimPrefix(s.ClientURL(), "nats://"))
	ended := make(chan error, 1)
	go func() {
		ended <- Run(t.Context(), []string{"-nats", "nats://" + relay, "-http", "127.0.0.1:0"}, nil, io.Discard, io.Discard)
	}()
	select {
	case err := <-ended:
		assert.ErrorContains(t, err, "Maximum Payload Violation")
	case <-time.After(10 * time.Second):
		t.Fatal("the ingress runs on")
	}
}
