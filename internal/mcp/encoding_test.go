package mcp_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestEncodings(t *testing.T) {
	text, yes, no, half := "t", true, false, 0.5
	tests := []struct {
		want string
		v    any
	}{
		// Spec: schema, ContentBlock.
		{`{"type":"text","text":"a\"b"}`, mcp.TextContent(`a"b`)},
		{`{"type":"text","text":""}`, mcp.TextContent("")},
		{`{"type":"image","data":"AAH/","mimeType":"image/png"}`, mcp.Content{Type: "image", Data: []byte{0, 1, 255}, MIMEType: "image/png"}},
		{`{"type":"audio","data":"","mimeType":"audio/wav"}`, mcp.Content{Type: "audio", Data: []byte{}, MIMEType: "audio/wav"}},
		{`{"type":"resource_link","uri":"file:///a","name":"a"}`, mcp.Content{Type: "resource_link", URI: "file:///a", Name: "a"}},
		{
			`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"t"}}`,
			mcp.EmbeddedResource(mcp.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: &text}),
		},
		{`{"type":"resource","resource":{"uri":"u","blob":"AA=="}}`, mcp.EmbeddedResource(mcp.ResourceContents{URI: "u", Blob: []byte{0}})},
		{
			`{"type":"text","text":"t","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-07-28T00:00:00Z"}}`,
			mcp.Content{Type: "text", Text: &text, Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: &half, LastModified: "2026-07-28T00:00:00Z"}},
		},

		// Spec: schema, Tool and CallToolResult.
		{`{"name":"n","inputSchema":{"type":"object"}}`, mcp.Tool{Name: "n", InputSchema: jsontext.Value(`{"type":"object"}`)}},
		{
			`{"name":"n","title":"T","description":"D","inputSchema":{"type":"object"},"outputSchema":{"type":"string"},"annotations":{"readOnlyHint":true,"destructiveHint":false}}`,
			mcp.Tool{
				Name: "n", Title: "T", Description: "D", InputSchema: jsontext.Value(`{ "type": "object" }`), OutputSchema: jsontext.Value(`{"type":"string"}`),
				Annotations: &mcp.ToolAnnotations{ReadOnly: &yes, Destructive: &no},
			},
		},
		{`{"idempotentHint":false,"openWorldHint":true}`, mcp.ToolAnnotations{Idempotent: &no, OpenWorld: &yes}},
		{`{"content":[]}`, mcp.ToolResult{}},
		{`{"content":[{"type":"text","text":"t"}],"structuredContent":[],"isError":true}`, mcp.ToolResult{Content: []mcp.Content{mcp.TextContent("t")}, Structured: []int{}, IsError: true}},
		{`{"content":[],"structuredContent":0}`, mcp.ToolResult{Structured: 0}},

		// Spec: schema, Resource, ResourceTemplate and ReadResourceResult.
		{`{"uri":"u","name":"n"}`, mcp.Resource{URI: "u", Name: "n"}},
		{
			`{"uri":"u","name":"n","title":"T","description":"D","mimeType":"text/plain","annotations":{},"size":7}`,
			mcp.Resource{URI: "u", Name: "n", Title: "T", Description: "D", MIMEType: "text/plain", Annotations: &mcp.Annotations{}, Size: 7},
		},
		{`{"uriTemplate":"file:///{path}","name":"n"}`, mcp.ResourceTemplate{URITemplate: "file:///{path}", Name: "n"}},
		{`{"uri":"u","text":""}`, mcp.ResourceContents{URI: "u", Text: new(string)}},
		{`{"uri":"u","blob":""}`, mcp.ResourceContents{URI: "u", Blob: []byte{}}},
		{`{"contents":[]}`, mcp.ReadResult{Cache: mcp.Cache{TTL: time.Hour, Public: true}}},

		// Spec: schema, ElicitResult. A visit has no content.
		{`{"action":"accept"}`, mcp.ElicitResult{Action: "accept"}},

		// Spec: schema, Prompt and GetPromptResult.
		{`{"name":"n"}`, mcp.Prompt{Name: "n"}},
		{`{"name":"n","arguments":[{"name":"a","required":true},{"name":"b"}]}`, mcp.Prompt{Name: "n", Arguments: []mcp.PromptArgument{{Name: "a", Required: true}, {Name: "b"}}}},
		{`{"messages":[]}`, mcp.PromptResult{}},
		{
			`{"description":"D","messages":[{"role":"user","content":{"type":"text","text":"t"}}]}`,
			mcp.PromptResult{Description: "D", Messages: []mcp.Message{{Role: mcp.RoleUser, Content: mcp.TextContent("t")}}},
		},

		// Spec: schema, DiscoverResult.
		{
			`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"I"}`,
			mcp.DiscoverResult{SupportedVersions: mcp.SupportedVersions(), Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}}, Instructions: "I"},
		},
		{`{"resources":{},"prompts":{}}`, mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{}, Prompts: &mcp.ListCapability{}}},
		{`{"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true}}`, mcp.ServerCapabilities{
			Resources: &mcp.ResourcesCapability{Subscribe: true, ListChanged: true}, Prompts: &mcp.ListCapability{ListChanged: true},
		}},
		{`{"name":"n","version":""}`, mcp.Implementation{Name: "n"}},
	}
	for _, test := range tests {
		assertJSON(t, test.want, test.v)
	}
}

func TestSupportedVersionsCannotBeChanged(t *testing.T) {
	mcp.SupportedVersions()[0] = "changed"
	assert.Equal(t, []string{"2026-07-28"}, mcp.SupportedVersions())
}
