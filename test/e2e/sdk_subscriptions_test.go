package e2e

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// The official Go SDK listens for lists as soon as it has somebody to tell, and
// for each resource in a stream of its own.
func TestGoSDKListens(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]func(*testing.T) sdk.Transport{
		"HTTP": func(t *testing.T) sdk.Transport {
			c, _ := startLocal(t)
			return &sdk.StreamableClientTransport{Endpoint: c.url + "/mcp", HTTPClient: c.http}
		},
		"stdio": func(t *testing.T) sdk.Transport {
			return &sdk.CommandTransport{Command: binary(t, "ingress", "-local", "-stdio"), TerminateDuration: patience}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listenWithSDK(t, transport(t))
		})
	}
}

func listenWithSDK(t *testing.T, transport sdk.Transport) {
	lists, updates := make(chan struct{}, 1000), make(chan string, 1000)
	client := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, &sdk.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { lists <- struct{}{} },
		ResourceUpdatedHandler:     func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
		},
	})
	connected, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: mcp.Version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = connected.Close() }) // again, if the test has not failed
	s := &session{ClientSession: connected}

	// The SDK does not wait for acknowledgements, so the first changes may be too
	// early for it.
	create := func() (id string) {
		result, _ := s.call(t, "notes_create", arguments{"title": "n", "body": ""})
		return result.StructuredContent.(map[string]any)["id"].(string)
	}
	eventually(t, func() bool {
		create()
		return len(lists) > 0
	})
	var deleted []string
	eventually(t, func() bool {
		id := create()
		require.NoError(t, s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "notes://" + id}))
		s.call(t, "notes_delete", arguments{"id": id})
		deleted = append(deleted, "notes://"+id)
		return len(updates) > 0
	})
	assert.Contains(t, deleted, <-updates)
	require.NoError(t, s.Close())
}
