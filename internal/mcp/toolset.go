package mcp

// A Toolset is a group of tools, resources and prompts that belong together. A
// worker serves one or several.
type Toolset struct {
	Name         string
	Instructions string // for the model: how to use what is in it
	Tools        []ServerTool
	Prompts      []ServerPrompt
	Resources    ResourceSource // nil when it has none
}
