package mcp

// An Implementation names a client's or server's software.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
}

// ServerCapabilities says what a server can do. A nil pointer is a capability
// that it has not.
//
// Spec: schema, ServerCapabilities.
type ServerCapabilities struct {
	Tools     *struct{} `json:"tools,omitzero"`
	Resources *struct{} `json:"resources,omitzero"`
	Prompts   *struct{} `json:"prompts,omitzero"`
}

// A DiscoverResult is the answer to server/discover.
//
// Spec: MCP 2026-07-28, Discovery.
type DiscoverResult struct {
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitzero"`
}
