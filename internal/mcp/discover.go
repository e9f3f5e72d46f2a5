package mcp

// An Implementation names a client's or server's software.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Version     string `json:"version"`
	Description string `json:"description,omitzero"`
	WebsiteURL  string `json:"websiteUrl,omitzero"`
	Icons       []Icon `json:"icons,omitempty"`
}

// ServerCapabilities says what a server can do. A nil pointer is a capability
// that it has not.
//
// Spec: schema, ServerCapabilities.
type ServerCapabilities struct {
	Tools       *ListCapability      `json:"tools,omitzero"`
	Resources   *ResourcesCapability `json:"resources,omitzero"`
	Prompts     *ListCapability      `json:"prompts,omitzero"`
	Completions *struct{}            `json:"completions,omitzero"`
	Logging     *struct{}            `json:"logging,omitzero"`
	Extensions  map[string]struct{}  `json:"extensions,omitempty"` // without settings, which none of ours has
}

// A ListCapability says what a server can do with the list of its tools, or of
// its prompts.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitzero"` // it tells when the list changes
}

// A ResourcesCapability says what a server can do with resources.
type ResourcesCapability struct {
	Subscribe   bool `json:"subscribe,omitzero"`   // it tells when a resource changes
	ListChanged bool `json:"listChanged,omitzero"` // it tells when the list changes
}

// A DiscoverResult is the answer to server/discover.
//
// Spec: MCP 2026-07-28, Discovery.
type DiscoverResult struct {
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitzero"`
}
