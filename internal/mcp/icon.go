package mcp

// An Icon is a picture by which a client shows a server, tool, prompt or
// resource.
//
// Spec: MCP 2026-07-28, Base Protocol, Icons.
type Icon struct {
	Src      string   `json:"src"` // an https, http or data URI
	MIMEType string   `json:"mimeType,omitzero"`
	Sizes    []string `json:"sizes,omitempty"` // such as "48x48", or "any"
	Theme    string   `json:"theme,omitzero"`  // the background it is for: "light" or "dark"
}
