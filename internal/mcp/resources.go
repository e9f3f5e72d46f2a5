package mcp

import "context"

// A Resource is an entry of resources/list.
//
// Spec: MCP 2026-07-28, Resources, Resource.
type Resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Size        int64        `json:"size,omitzero"`
	Icons       []Icon       `json:"icons,omitempty"`
}

// A ResourceTemplate is an entry of resources/templates/list.
type ResourceTemplate struct {
	URITemplate string       `json:"uriTemplate"` // RFC 6570
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitempty"`
}

// A ServerTemplate is a resource template and what suggests values of its
// variables.
type ServerTemplate struct {
	ResourceTemplate
	Complete CompleteFunc // may be nil
}

// ResourceContents is what one resource holds: Text or Blob.
type ResourceContents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitzero"`
	Text     *string `json:"text,omitzero"`
	Blob     []byte  `json:"blob,omitzero"` // base64 on the wire
}

// A ReadResult is the answer to resources/read.
type ReadResult struct {
	Contents []ResourceContents `json:"contents"`
	Cache    Cache              `json:"-"`
}

// A ResourceSource serves resources. Its methods are called concurrently.
type ResourceSource interface {
	// Templates returns the templates of its resources, always the same.
	Templates() []ServerTemplate
	// List returns at most limit resources in the order of their URIs, from
	// the first one after the URI after.
	List(ctx context.Context, call *Call, after string, limit int) ([]Resource, error)
	// Read returns the resource uri. Its error wraps fs.ErrNotExist when this
	// source has no such resource; *InputRequired asks the client for input.
	Read(ctx context.Context, call *Call, uri string) (*ReadResult, error)
}
