package worker_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
	"github.com/mcpyard/mcpyard/internal/worker"
	"github.com/mcpyard/mcpyard/test/process"
)

func TestOwnToolsetsAreServedBesideTheCatalogue(t *testing.T) {
	server := bustest.StartServer(t)
	conn := bustest.Connect(t, server)
	adverts, err := conn.SubscribeSync("mcp.v1.main.default.adv.*")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())

	own := mcp.Toolset{Name: "own", Tools: []mcp.ServerTool{tools.New(
		mcp.Tool{Name: "mine", InputSchema: []byte(`{"type":"object"}`)},
		func(context.Context, *mcp.ToolCall, struct{}) (string, error) { return "", nil },
	)}}
	p := process.Go(context.WithoutCancel(t.Context()), func(ctx context.Context, stdout, stderr io.Writer) error {
		return worker.Run(ctx, []string{"-nats", server.ClientURL(), "-toolsets", "basics"}, stdout, stderr, own)
	})
	t.Cleanup(func() {
		p.Terminate()
		assert.NoError(t, p.Wait(context.WithoutCancel(t.Context())))
	})
	_, err = adverts.NextMsg(20 * time.Second)
	require.NoError(t, err, "the worker is up")

	list := nats.NewMsg("mcp.v1.main.default.q._")
	list.Header.Set("Mcp-Profile", "contract")
	list.Data = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	answer, err := conn.RequestMsg(list, 20*time.Second)
	require.NoError(t, err)
	assert.Contains(t, string(answer.Data), `"name":"mine"`)
	assert.Contains(t, string(answer.Data), `"name":"echo"`)
}
