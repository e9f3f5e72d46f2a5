package e2e

import (
	"context"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A session is a client of the official Go SDK that talks to MCPYard. It is an
// implementation of the protocol that shares no code with this one.
type session struct {
	*sdk.ClientSession
	progress chan *sdk.ProgressNotificationParams
	asked    chan *sdk.ElicitParams
}

// openSession connects a client and pins the revision. The SDK begins with
// server/discover for 2026-07-28 and falls back to the handshake of earlier
// revisions; the version that was agreed tells which it was.
func openSession(t testing.TB, transport sdk.Transport) *session {
	t.Helper()
	s := &session{
		progress: make(chan *sdk.ProgressNotificationParams, 64),
		asked:    make(chan *sdk.ElicitParams, 1),
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progress <- r.Params },
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			s.asked <- r.Params
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
		},
	})
	connected, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: mcp.Version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = connected.Close() }) // again, if the test has not failed
	require.Equal(t, mcp.Version, connected.InitializeResult().ProtocolVersion)
	s.ClientSession = connected
	return s
}

func TestGoSDKOverHTTP(t *testing.T) {
	t.Parallel()
	c, _ := startLocal(t, "-slots", "1")
	s := openSession(t, &sdk.StreamableClientTransport{Endpoint: c.url + "/mcp", HTTPClient: c.http})
	s.converse(t)
	require.NoError(t, s.Close())
}

func TestGoSDKOverStdio(t *testing.T) {
	t.Parallel()
	cmd := binary(t, "ingress", "-local", "-stdio", "-slots", "1")
	s := openSession(t, &sdk.CommandTransport{Command: cmd, TerminateDuration: patience})
	s.converse(t)
	require.NoError(t, s.Close())
	assertExited(t, cmd)
}

func assertExited(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	require.NotNil(t, cmd.ProcessState, "it has ended when the session has")
	assert.Equal(t, "exit status 0", cmd.ProcessState.String())
}

// converse does with a pool of one slot all that a client can.
func (s *session) converse(t *testing.T) {
	t.Run("discover", s.discover)
	t.Run("lists", s.lists)
	t.Run("calls", s.calls)
	t.Run("notes", s.notes)
	t.Run("progress", s.follow)
	t.Run("cancel", s.cancel)
}

func (s *session) discover(t *testing.T) {
	found := s.InitializeResult()
	require.NotNil(t, found.ServerInfo)
	assert.Equal(t, "mcpyard", found.ServerInfo.Name)
	assert.NotNil(t, found.Capabilities.Tools)
	assert.NotNil(t, found.Capabilities.Resources)
	assert.NotNil(t, found.Capabilities.Prompts)
	assert.NotEmpty(t, found.Instructions)
}

func (s *session) lists(t *testing.T) {
	tools, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Len(t, tools.Tools, 9)
	for _, tool := range tools.Tools {
		assert.NotNil(t, tool.InputSchema, tool.Name)
	}
	resources, err := s.ListResources(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, resources.Resources)
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, templates.ResourceTemplates, 1)
	assert.Equal(t, "notes://{id}", templates.ResourceTemplates[0].URITemplate)
	prompts, err := s.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, prompts.Prompts, 1)
	assert.Equal(t, "review_note", prompts.Prompts[0].Name)
}

type arguments = map[string]any

// call calls a tool and returns its text.
func (s *session) call(t testing.TB, name string, args arguments) (*sdk.CallToolResult, string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	require.Len(t, result.Content, 1)
	content, ok := result.Content[0].(*sdk.TextContent)
	require.True(t, ok)
	return result, content.Text
}

func (s *session) calls(t *testing.T) {
	_, text := s.call(t, "calculate_sum", arguments{"a": 1, "b": 2.5})
	assert.Equal(t, "3.5", text)
	result, text := s.call(t, "divide", arguments{"a": 1, "b": 0})
	assert.True(t, result.IsError)
	assert.Equal(t, "Error: division by zero", text)
	_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "burn"})
	assert.ErrorContains(t, err, "Unknown tool: burn")
}

// notes makes a note, reads it, has it reviewed, and deletes it after the
// question has been answered.
func (s *session) notes(t *testing.T) {
	result, _ := s.call(t, "notes_create", arguments{"title": "Größe", "body": "42"})
	id := result.StructuredContent.(map[string]any)["id"].(string)
	read, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "notes://" + id})
	require.NoError(t, err)
	require.Len(t, read.Contents, 1)
	assert.Equal(t, "42", read.Contents[0].Text)
	prompt, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "review_note", Arguments: map[string]string{"note_id": id}})
	require.NoError(t, err)
	assert.Len(t, prompt.Messages, 2)

	result, _ = s.call(t, "notes_delete", arguments{"id": id})
	assert.Equal(t, true, result.StructuredContent.(map[string]any)["deleted"])
	assert.Equal(t, `Delete the note "Größe" for good?`, (<-s.asked).Message)
	_, err = s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "notes://" + id})
	assert.ErrorContains(t, err, "Resource not found")
}

func (s *session) follow(t *testing.T) {
	params := &sdk.CallToolParams{Name: "slow", Arguments: arguments{"seconds": 0.3}}
	params.SetProgressToken("follow")
	_, err := s.CallTool(t.Context(), params)
	require.NoError(t, err)
	last := 0.0
	for last < 0.3 { // they come before the response, but in goroutines of the SDK
		p := s.nextProgress(t)
		assert.Equal(t, "follow", p.ProgressToken)
		assert.Greater(t, p.Progress, last)
		assert.InDelta(t, 0.3, p.Total, 0)
		last = p.Progress
	}
}

func (s *session) nextProgress(t testing.TB) *sdk.ProgressNotificationParams {
	t.Helper()
	select {
	case p := <-s.progress:
		return p
	case <-time.After(patience):
		require.FailNow(t, "no progress")
		return nil
	}
}

// cancel gives a call up that has the only slot. The next call is answered, so
// the slot is free again and the tool's context has ended.
func (s *session) cancel(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	params := &sdk.CallToolParams{Name: "slow", Arguments: arguments{"seconds": 25}}
	params.SetProgressToken("cancel")
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, params)
		ended <- err
	}()
	assert.Equal(t, "cancel", s.nextProgress(t).ProgressToken)
	giveUp()
	assert.ErrorIs(t, <-ended, context.Canceled)
	start := time.Now()
	_, text := s.call(t, "echo", arguments{"text": "next"})
	assert.Equal(t, "next", text)
	assert.Less(t, time.Since(start), patience/2)
}
