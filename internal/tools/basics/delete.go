package basics

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// confirmID is the id of the question that delete_resource asks.
const confirmID = "confirm"

const deleteInput = `{
	"type": "object",
	"properties": {
		"name": {"type": "string", "description": "The name of the resource."}
	},
	"required": ["name"],
	"additionalProperties": false
}`

// deleteResource is read-only in its annotations because it is: the deletion is
// pretended, only the question is real.
func deleteResource() mcp.ServerTool {
	return tools.New(mcp.Tool{
		Name:  "delete_resource",
		Title: "Delete resource (demonstration)",
		Description: "Demonstrates a tool that asks for confirmation: it pretends to delete the named resource " +
			"once the question is answered with yes. It deletes nothing real.",
		InputSchema: jsontext.Value(deleteInput),
		Annotations: tools.ReadOnly(),
	}, runDelete)
}

type deleteArguments struct {
	Name string `json:"name"`
}

func runDelete(_ context.Context, call *mcp.ToolCall, in deleteArguments) (string, error) {
	if form, ok := call.InputResponses.Elicited(confirmID); ok && !form.Accepted() {
		return fmt.Sprintf("The resource %q was not deleted.", in.Name), nil
	}
	if answer, _ := call.InputResponses.Text(confirmID); answer != "yes" {
		question := fmt.Sprintf("Delete the resource %q? Answer yes to delete it.", in.Name)
		return "", &mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask(confirmID, question)}}
	}
	return fmt.Sprintf("The resource %q was deleted. (A demonstration: nothing real was.)", in.Name), nil
}
