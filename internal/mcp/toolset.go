package mcp

// A Toolset is a group of tools, resources and prompts that belong together. A
// worker serves one or several.
type Toolset struct {
	Name         string
	Instructions string // for the model: how to use what is in it
	Tools        []ServerTool
	Prompts      []ServerPrompt
	Resources    ResourceSource // nil when it has none

	// ResourceListCache says how long and for whom clients may keep pages of
	// resources/list as far as they depend on Resources. A page of several
	// toolsets has the strictest of their hints. Zero: private and stale at once.
	ResourceListCache Cache

	// Logs says that its handlers use Call.Log. A server that logs has to declare
	// it, so that Call.Log sends nothing unless a toolset of the server says this.
	Logs bool
}
