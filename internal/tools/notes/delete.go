package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// confirmID is the id of the form that asks for confirmation, and the name of
// its only field.
const confirmID = "confirm"

const deleteInput = `{
	"type": "object",
	"properties": {
		"id": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The note's id, as notes_list and notes_search show it."}
	},
	"required": ["id"],
	"additionalProperties": false
}`

const deleteOutput = `{
	"type": "object",
	"properties": {
		"id": {"type": "string"},
		"deleted": {"type": "boolean", "description": "False when the user did not want the note deleted."},
		"message": {"type": "string"}
	},
	"required": ["id", "deleted", "message"],
	"additionalProperties": false
}`

type deletion struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
	Message string `json:"message"`
}

// deleteTool is idempotent: ids are never used twice, so a call that runs again
// finds nothing more to delete and says so.
func (s store) deleteTool() mcp.ServerTool {
	return tools.New(mcp.Tool{
		Name:         "notes_delete",
		Title:        "Delete note",
		Description:  "Deletes a note for good, after asking the user to confirm. Only the note's owner may do that.",
		InputSchema:  jsontext.Value(deleteInput),
		OutputSchema: jsontext.Value(deleteOutput),
		Annotations: &mcp.ToolAnnotations{
			ReadOnly:    new(false),
			Destructive: new(true),
			Idempotent:  new(true),
			OpenWorld:   new(false),
		},
	}, s.runDelete)
}

type deleteArguments struct {
	ID string `json:"id"`
}

// runDelete asks only a caller who may delete the note; all checks are made
// again when the answer comes, which may be to another worker.
func (s store) runDelete(ctx context.Context, call *mcp.ToolCall, in deleteArguments) (deletion, error) {
	n, revision, err := s.get(ctx, in.ID)
	if err != nil {
		return deletion{}, err
	}
	if n.Owner != call.Principal {
		return deletion{}, fmt.Errorf("only its owner may delete the note %q", n.ID)
	}
	confirmed, answered := confirmation(call.InputResponses)
	switch {
	case !answered:
		return deletion{}, askToDelete(n)
	case !confirmed:
		return deletion{ID: n.ID, Message: "The note was kept, as the deletion was not confirmed."}, nil
	}
	err = s.bucket.Delete(ctx, n.ID, revision)
	if errors.Is(err, fs.ErrExist) { // notes never change, so another call has deleted it
		return deletion{}, unknownError(n.ID)
	}
	if err != nil {
		return deletion{}, fmt.Errorf("delete note: %w", err)
	}
	call.Publish(mcp.ResourcesListChanged())
	call.Publish(mcp.ResourceUpdated(n.uri())) // who listens for the note learns that it is gone when they read it
	return deletion{ID: n.ID, Deleted: true, Message: "The note was deleted."}, nil
}

func askToDelete(n note) *mcp.InputRequired {
	form := mcp.Form(confirmID, fmt.Sprintf("Delete the note %q for good?", n.Title),
		mcp.Field{Name: confirmID, Type: mcp.BooleanField, Title: "Delete the note", Default: false, Required: true})
	return &mcp.InputRequired{Requests: []mcp.InputRequest{form}}
}

// confirmation reads the client's answer: the form, or yes or no in plain text.
// Without one that is clear, answered is false.
func confirmation(responses mcp.InputResponses) (confirmed, answered bool) {
	if form, ok := responses.Elicited(confirmID); ok {
		if !form.Accepted() {
			return false, true
		}
		switch form.Content[confirmID].Kind() {
		case jsontext.KindTrue:
			return true, true
		case jsontext.KindFalse:
			return false, true
		}
	}
	text, _ := responses.Text(confirmID)
	return text == "yes", text == "yes" || text == "no"
}
