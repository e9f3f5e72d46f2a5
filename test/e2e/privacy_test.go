package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
)

// What clients send and are answered is theirs: no log has it, on any level.
func TestNothingOfMessagesIsLogged(t *testing.T) {
	t.Parallel()
	const marker = "Xk7-private"
	server := bustest.StartServer(t)
	f := startFleet(t, inProcess, server.ClientURL(), 1)
	var created note
	f.ask(t, tool("notes_create", fmt.Sprintf(`{"title":%q,"body":%[1]q,"tag":%[1]q}`, marker))).structured(t, &created)
	require.Equal(t, marker, created.Body)
	for _, p := range []post{
		tool("echo", fmt.Sprintf(`{"text":%q}`, marker)),
		tool("echo", fmt.Sprintf(`{"text":{%q:1}}`, marker)),
		tool("echo", fmt.Sprintf(`{"text":"",%q:1}`, marker)),
		tool("divide", fmt.Sprintf(`{"a":%q,"b":0}`, marker)),
		tool("notes_search", fmt.Sprintf(`{"query":%q}`, marker)),
		tool("notes_delete", fmt.Sprintf(`{"id":%q}`, created.ID)),
		tool(marker, `{}`),
		strict("tools/call", "echo", fmt.Sprintf(`"name":"echo","arguments":%q`, marker)),
		strict("tools/list", "", fmt.Sprintf(`"cursor":%q`, marker)),
		strict("resources/read", "notes://"+marker, fmt.Sprintf(`"uri":"notes://%s"`, marker)),
		strict("resources/read", "notes://"+created.ID, fmt.Sprintf(`"uri":"notes://%s"`, created.ID)),
		strict("prompts/get", "review_note", fmt.Sprintf(`"name":"review_note","arguments":{"note_id":%q}`, marker)),
		strict("prompts/get", marker, fmt.Sprintf(`"name":%q`, marker)),
		strict("tools/list", marker, ""),
		{path: "/mcp", header: map[string]string{"Mcp-Name": marker, "Authorization": "Bearer " + marker}, body: tool("echo", `{"text":"x"}`).body},
		{path: "/mcp", body: marker},
		{path: "/mcp", body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"a","params":%q}`, marker)},
		{path: "/mcp", body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"a",%q:1,%[1]q:1}`, marker)},
		{path: "/rpc", body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, marker)},
		{path: "/rpc/" + marker + "-!", body: `{}`},
	} {
		f.ask(t, p)
	}
	for _, p := range append(f.workers, f.ingress) {
		p.Terminate()
		require.NoError(t, p.wait(t))
		assert.NotContains(t, p.Stdout.String()+p.Stderr.String(), marker)
	}
	assert.Contains(t, f.ingress.Stderr.String(), "level=DEBUG", "there are logs")
	assert.Contains(t, f.workers[0].Stderr.String(), "tool=echo", "there are logs of calls")
	assert.Contains(t, f.workers[0].Stderr.String(), "draining", "to the end")
}
