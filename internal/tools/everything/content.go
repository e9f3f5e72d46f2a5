package everything

import (
	"context"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// contentTools return each kind of content, and an error.
func contentTools() []mcp.ServerTool {
	returns := func(blocks ...mcp.Content) run {
		return func(context.Context, *mcp.Call) (*mcp.ToolResult, error) { return content(blocks...), nil }
	}
	image := mcp.ImageContent(redPixel(), "image/png")
	embedded := mcp.EmbeddedResource(mcp.TextResource("test://embedded-resource", "text/plain", "This is an embedded resource."))
	link := mcp.ResourceLink(mcp.Resource{URI: staticText, Name: "static-text", Description: "A text.", MIMEType: "text/plain"})
	return []mcp.ServerTool{
		simple("test_simple_text", "Returns one text.", returns(mcp.TextContent("This is a simple text response."))),
		simple("test_image_content", "Returns an image of one red pixel.", returns(image)),
		simple("test_audio_content", "Returns a sound without a tone.", returns(mcp.AudioContent(silence(), "audio/wav"))),
		simple("test_embedded_resource", "Returns a resource as content.", returns(embedded)),
		simple("test_resource_link", "Returns a link to a resource.", returns(link)),
		simple("test_multiple_content_types", "Returns a text, an image and a resource.",
			returns(mcp.TextContent("Several kinds of content:"), image, embedded)),
		simple("test_annotated_content", "Returns a text for the user and one for the model.", returns(
			mcp.TextContent("For you.").Annotated(mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: new(1.0)}),
			mcp.TextContent("For the model.").Annotated(mcp.Annotations{Audience: []mcp.Role{mcp.RoleAssistant}, Priority: new(0.2)}))),
		simple("test_error_handling", "Always fails, as a tool error that the model reads.",
			func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
				failed := text("This tool always fails.")
				failed.IsError = true
				return failed, nil
			}),
	}
}

// redPixel returns a PNG of one red pixel.
func redPixel() []byte {
	return []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
		"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82")
}

// silence returns a WAV of eight samples of nothing, in 8 bits at 8 kHz.
func silence() []byte {
	return []byte("RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00" +
		"data\x08\x00\x00\x00\x80\x80\x80\x80\x80\x80\x80\x80")
}
