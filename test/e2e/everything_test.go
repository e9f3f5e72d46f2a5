package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/test/process"
)

func startEverything(t *testing.T) *caller {
	t.Helper()
	p := inProcess(t, "ingress", "-local", "-workers", "2", "-toolsets", "everything", "-http", "127.0.0.1:0")
	return newCaller(t, p.says(t, process.SaysClients))
}

func (p post) with(header, value string) post {
	p.header[header] = value
	return p
}

// Headers of the HTTP request are compared by the worker, on the other side of
// the bus.
//
// Spec: MCP 2026-07-28, Streamable HTTP, Custom Headers from Tool Parameters.
func TestHeadersThatRepeatArguments(t *testing.T) {
	t.Parallel()
	c := startEverything(t)
	call := func(arguments string) post { return tool("test_x_mcp_header", arguments) }
	for _, p := range []post{
		call(`{"region":"us-west1"}`).with("mcp-param-REGION", "us-west1"),
		call(`{"region":"Hello"}`).with("Mcp-Param-Region", "=?base64?SGVsbG8=?="),
		call(`{"region":""}`).with("Mcp-Param-Region", ""),
		call(`{"region":"x","limit":42,"options":{"dry_run":true}}`).with("Mcp-Param-Region", "x").
			with("Mcp-Param-Limit", "42.0").with("Mcp-Param-Dry-Run", "true"),
		call(`{"region":"x","limit":null}`).with("Mcp-Param-Region", "x").with("Mcp-Param-Other", "y"),
	} {
		a := c.ask(t, p)
		assert.Equal(t, http.StatusOK, a.status)
		assert.NotContains(t, a.response(), `"error"`)
	}
	for _, p := range []post{
		call(`{"region":"us-west1"}`),
		call(`{"region":"us-west1"}`).with("Mcp-Param-Region", "US-WEST1"),
		call(`{"region":"Hello"}`).with("Mcp-Param-Region", "=?base64?SGVsbG8?="),
		call(`{"region":"größe"}`).with("Mcp-Param-Region", "größe"),
		call(`{"region":"x"}`).with("Mcp-Param-Region", "x").with("Mcp-Param-Limit", "42"),
	} {
		a := c.ask(t, p)
		assert.Equal(t, http.StatusBadRequest, a.status)
		assert.Equal(t, -32020, a.code(t))
	}
	door := contract("tools/call", `"name":"test_x_mcp_header","arguments":{"region":"x"}`)
	text, err := c.ask(t, door).text()
	require.NoError(t, err)
	assert.Equal(t, "Region: x", text, "the contract has no such headers")
}

// stdio has no headers that could repeat anything.
func TestArgumentsWithoutHeaders(t *testing.T) {
	t.Parallel()
	h := startHost(t, "-toolsets", "everything")
	h.write(t, tool("test_x_mcp_header", `{"region":"x"}`).body)
	m, ok := h.next(t)
	require.True(t, ok)
	assert.Nil(t, m.Error)
	assert.Contains(t, string(m.Result), "Region: x")
	require.NoError(t, h.in.Close())
	require.NoError(t, h.wait(t))
}

// Log messages come on the stream of the request that asked for them, before the
// response, and are valid by the schema.
func TestLogMessages(t *testing.T) {
	t.Parallel()
	c := startEverything(t)
	for level, want := range map[string]int{"": 0, "debug": 3, "info": 2, "error": 0} {
		p := tool("test_logging_tool", `{}`)
		if level != "" {
			p.body = fmt.Sprintf(`{"jsonrpc":"2.0","id":"r-1","method":"tools/call","params":{"name":"test_logging_tool",`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
				`"io.modelcontextprotocol/logLevel":%q}}}`, level)
		}
		a := c.ask(t, p)
		require.Len(t, a.messages, want+1, level)
		for _, m := range a.messages[:want] {
			assert.Contains(t, string(m), `"method":"notifications/message"`)
		}
	}
}

// What is in every result of the toolset is valid by the schema, which the
// caller checks.
func TestEverythingIsValid(t *testing.T) {
	t.Parallel()
	c := startEverything(t)
	requests := []post{
		strict("server/discover", "", ""), strict("tools/list", "", ""), strict("prompts/list", "", ""),
		strict("resources/list", "", ""), strict("resources/templates/list", "", ""),
		strict("resources/read", "test://static-binary", `"uri":"test://static-binary"`),
		strict("prompts/get", "test_prompt_with_image", `"name":"test_prompt_with_image"`),
		strict("completion/complete", "", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":""}`),
	}
	for _, name := range []string{
		"test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource", "test_resource_link",
		"test_multiple_content_types", "test_annotated_content", "test_error_handling", "test_input_required_result_elicitation",
		"test_trigger_resource_update",
	} {
		requests = append(requests, tool(name, `{}`))
	}
	for _, p := range requests {
		a := c.ask(t, p)
		assert.Equal(t, http.StatusOK, a.status)
		assert.NotContains(t, a.response(), `"error"`)
	}
}
