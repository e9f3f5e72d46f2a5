package mcp

import "context"

// A Prompt is a prompt's definition, as prompts/list shows it.
//
// Spec: MCP 2026-07-28, Prompts, Prompt.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
}

// A PromptArgument is a string that a prompt takes.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// A PromptResult is the answer to prompts/get.
type PromptResult struct {
	Description string    `json:"description,omitzero"`
	Messages    []Message `json:"messages"`
}

// A ServerPrompt is a prompt and the function that fills it in. The required
// arguments are there when Get is called. Its error wraps fs.ErrNotExist when an
// argument names something that does not exist; *InputRequired asks the client
// for input. Get is called concurrently.
type ServerPrompt struct {
	Prompt
	Get      func(ctx context.Context, call *Call, arguments map[string]string) (*PromptResult, error)
	Complete CompleteFunc // suggests values of its arguments; may be nil
}
