package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestContentOnTheWire(t *testing.T) {
	icons := []mcp.Icon{{Src: "https://example.com/i.svg", MIMEType: "image/svg+xml", Sizes: []string{"any"}, Theme: "dark"}}
	const iconsText = `"icons":[{"src":"https://example.com/i.svg","mimeType":"image/svg+xml","sizes":["any"],"theme":"dark"}]`
	for want, content := range map[string]any{
		`{"type":"text","text":""}`:                                                 mcp.TextContent(""),
		`{"type":"image","data":"cG5n","mimeType":"image/png"}`:                     mcp.ImageContent([]byte("png"), "image/png"),
		`{"type":"audio","data":"","mimeType":"audio/wav"}`:                         mcp.AudioContent(nil, "audio/wav"),
		`{"type":"resource","resource":{"uri":"a://b","text":""}}`:                  mcp.EmbeddedResource(mcp.TextResource("a://b", "", "")),
		`{"type":"resource","resource":{"uri":"a://b","mimeType":"x/y","blob":""}}`: mcp.EmbeddedResource(mcp.BlobResource("a://b", "x/y", nil)),
		`{"type":"resource_link","mimeType":"x/y","uri":"a://b","name":"b","title":"B","description":"It.","size":3,` + iconsText +
			`,"annotations":{"audience":["user"]}}`: mcp.ResourceLink(mcp.Resource{
			URI: "a://b", Name: "b", Title: "B", Description: "It.", MIMEType: "x/y", Size: 3, Icons: icons,
			Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}},
		}),
		`{"type":"text","text":"x","annotations":{"priority":0,"lastModified":"2026-07-28T00:00:00Z"}}`: mcp.TextContent("x").Annotated(
			mcp.Annotations{Priority: new(0.0), LastModified: "2026-07-28T00:00:00Z"}),
		`{"name":"s","version":"1","description":"It.","websiteUrl":"https://example.com",` + iconsText + `}`: mcp.Implementation{
			Name: "s", Version: "1", Description: "It.", WebsiteURL: "https://example.com", Icons: icons},
		`{"name":"p",` + iconsText + `}`:                         mcp.Prompt{Name: "p", Icons: icons},
		`{"uri":"a://b","name":"b",` + iconsText + `}`:           mcp.Resource{URI: "a://b", Name: "b", Icons: icons},
		`{"uriTemplate":"a://{b}","name":"b",` + iconsText + `}`: mcp.ResourceTemplate{URITemplate: "a://{b}", Name: "b", Icons: icons},
		`{"name":"t","inputSchema":{},` + iconsText + `}`:        mcp.Tool{Name: "t", InputSchema: []byte(`{}`), Icons: icons},
	} {
		got, err := jsonrpc.Marshal(content)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}

// A block that was annotated is another one.
func TestAnnotatedCopies(t *testing.T) {
	plain := mcp.TextContent("x")
	assert.NotNil(t, plain.Annotated(mcp.Annotations{}).Annotations)
	assert.Nil(t, plain.Annotations)
}
