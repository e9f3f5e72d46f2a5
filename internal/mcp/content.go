package mcp

// A Content is one block of a tool result or prompt message. Which members
// count depends on Type.
//
// Spec: schema, ContentBlock.
type Content struct {
	Type     string            `json:"type"`
	Text     *string           `json:"text,omitzero"`
	Data     []byte            `json:"data,omitzero"` // base64 on the wire
	MIMEType string            `json:"mimeType,omitzero"`
	URI      string            `json:"uri,omitzero"`
	Name     string            `json:"name,omitzero"`
	Resource *ResourceContents `json:"resource,omitzero"`

	Annotations *Annotations `json:"annotations,omitzero"`
}

// TextContent returns a block of text.
func TextContent(text string) Content { return Content{Type: "text", Text: &text} }

// EmbeddedResource returns a block with the contents of a resource.
func EmbeddedResource(contents ResourceContents) Content {
	return Content{Type: "resource", Resource: &contents}
}

// Annotations tell a client how to use a block or resource.
//
// Spec: Resources, Annotations.
type Annotations struct {
	Audience     []string `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitzero"`
	LastModified string   `json:"lastModified,omitzero"`
}
