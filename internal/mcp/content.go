package mcp

// A Content is one block of a tool result or prompt message. Which members
// count depends on Type, so blocks are made with the functions below.
//
// Spec: MCP 2026-07-28, schema, ContentBlock.
type Content struct {
	Type     string            `json:"type"`
	Text     *string           `json:"text,omitzero"`
	Data     []byte            `json:"data,omitzero"` // base64 on the wire
	MIMEType string            `json:"mimeType,omitzero"`
	Resource *ResourceContents `json:"resource,omitzero"`

	// Of links:

	URI         string `json:"uri,omitzero"`
	Name        string `json:"name,omitzero"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Size        int64  `json:"size,omitzero"`
	Icons       []Icon `json:"icons,omitempty"`

	Annotations *Annotations `json:"annotations,omitzero"`
}

// TextContent returns a block of text.
func TextContent(text string) Content { return Content{Type: "text", Text: &text} }

// ImageContent returns a block with an image, such as one of image/png.
func ImageContent(data []byte, mimeType string) Content {
	return Content{Type: "image", Data: present(data), MIMEType: mimeType}
}

// AudioContent returns a block with a sound, such as one of audio/wav.
func AudioContent(data []byte, mimeType string) Content {
	return Content{Type: "audio", Data: present(data), MIMEType: mimeType}
}

// ResourceLink returns a block that points to a resource, which resources/list
// need not have.
func ResourceLink(r Resource) Content {
	return Content{
		Type:        "resource_link",
		URI:         r.URI,
		Name:        r.Name,
		Title:       r.Title,
		Description: r.Description,
		MIMEType:    r.MIMEType,
		Size:        r.Size,
		Icons:       r.Icons,
		Annotations: r.Annotations,
	}
}

// EmbeddedResource returns a block with the contents of a resource.
func EmbeddedResource(contents ResourceContents) Content {
	return Content{Type: "resource", Resource: &contents}
}

// Annotated returns the block with annotations.
func (c Content) Annotated(a Annotations) Content {
	c.Annotations = &a
	return c
}

// TextResource returns the contents of a resource that is text.
func TextResource(uri, mimeType, text string) ResourceContents {
	return ResourceContents{URI: uri, MIMEType: mimeType, Text: &text}
}

// BlobResource returns the contents of a resource that is not text.
func BlobResource(uri, mimeType string, blob []byte) ResourceContents {
	return ResourceContents{URI: uri, MIMEType: mimeType, Blob: present(blob)}
}

// present makes data a member that is there even if it has no bytes.
func present(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// A Role is who speaks in a conversation, or whom a block is for.
//
// Spec: schema, Role.
type Role string

// The two roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// A Message is one message of a prompt, or one turn of a conversation that a model
// continues.
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// Annotations tell a client how to use a block or resource.
//
// Spec: Resources, Annotations.
type Annotations struct {
	Audience     []Role   `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitzero"` // from 0, optional, to 1, required
	LastModified string   `json:"lastModified,omitzero"`
}
