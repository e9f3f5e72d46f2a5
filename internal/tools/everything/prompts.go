package everything

import (
	"context"
	"fmt"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// prompts are one without and one with arguments, two with other content than
// text, and one that asks the user first.
func prompts() []mcp.ServerPrompt {
	argument := func(name, description string) mcp.PromptArgument {
		return mcp.PromptArgument{Name: name, Description: description, Required: true}
	}
	return []mcp.ServerPrompt{
		{
			Prompt: mcp.Prompt{Name: "test_simple_prompt", Description: "A prompt without arguments."},
			Get:    says(mcp.TextContent("This is a simple prompt.")),
		},
		{
			Prompt: mcp.Prompt{
				Name: "test_prompt_with_arguments", Description: "A prompt with two arguments, which can be completed.",
				Arguments: []mcp.PromptArgument{argument("arg1", "The first value."), argument("arg2", "The second value.")},
			},
			Get:      getWithArguments,
			Complete: completeArguments,
		},
		{
			Prompt: mcp.Prompt{
				Name: "test_prompt_with_embedded_resource", Description: "A prompt with a resource in it.",
				Arguments: []mcp.PromptArgument{argument("resourceUri", "The URI of the resource.")},
			},
			Get: getWithResource,
		},
		{
			Prompt: mcp.Prompt{Name: "test_prompt_with_image", Description: "A prompt with an image in it."},
			Get:    says(mcp.ImageContent(redPixel(), "image/png"), mcp.TextContent("What colour is it?")),
		},
		inputPrompt(),
	}
}

// says returns the function of a prompt that is always the same.
func says(blocks ...mcp.Content) func(context.Context, *mcp.Call, map[string]string) (*mcp.PromptResult, error) {
	return func(context.Context, *mcp.Call, map[string]string) (*mcp.PromptResult, error) {
		return messages(blocks...), nil
	}
}

// messages returns one message of the user for each block.
func messages(blocks ...mcp.Content) *mcp.PromptResult {
	result := &mcp.PromptResult{}
	for _, block := range blocks {
		result.Messages = append(result.Messages, mcp.Message{Role: mcp.RoleUser, Content: block})
	}
	return result
}

func getWithArguments(_ context.Context, _ *mcp.Call, arguments map[string]string) (*mcp.PromptResult, error) {
	return messages(mcp.TextContent(fmt.Sprintf("A prompt with arg1=%q and arg2=%q.", arguments["arg1"], arguments["arg2"]))), nil
}

// completeArguments suggests for arg2 only what goes with arg1.
func completeArguments(_ context.Context, _ *mcp.Call, query mcp.CompletionQuery) (*mcp.Completion, error) {
	if query.Argument == "arg2" {
		first := query.Resolved["arg1"]
		return mcp.CompleteFrom(query.Value, first+"-one", first+"-two"), nil
	}
	return mcp.CompleteFrom(query.Value, "test", "testValue1", "testValue2"), nil
}

// getWithResource embeds what the URI leads to, or a text in its place: any URI
// will do for a test.
func getWithResource(_ context.Context, _ *mcp.Call, arguments map[string]string) (*mcp.PromptResult, error) {
	uri := arguments["resourceUri"]
	contents, ok := read(uri)
	if !ok {
		contents = mcp.TextResource(uri, "text/plain", "There is no such resource here.")
	}
	return messages(mcp.EmbeddedResource(contents), mcp.TextContent("What does this resource say?")), nil
}
