package notes

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/tools"
)

// maxBody is the longest body in bytes. A schema counts characters, so it can
// only bound it roughly.
const maxBody = 64 << 10

const createInput = `{
	"type": "object",
	"properties": {
		"title": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "\\S", "description": "What the note is about."},
		"body": {"type": "string", "maxLength": 65536, "description": "The text, in Markdown; at most 64 KiB, may be empty."},
		"tag": {"type": "string", "maxLength": 50, "description": "A word to list related notes by."}
	},
	"required": ["title", "body"],
	"additionalProperties": false
}`

// createTool is not idempotent: each call makes a note of its own.
func (s store) createTool() mcp.ServerTool {
	return tools.New(mcp.Tool{
		Name:         "notes_create",
		Title:        "Create note",
		Description:  "Saves a new note and returns it with its id. The note belongs to the caller.",
		InputSchema:  jsontext.Value(createInput),
		OutputSchema: jsontext.Value(noteSchema),
		Annotations: &mcp.ToolAnnotations{
			ReadOnly:    new(false),
			Destructive: new(false),
			Idempotent:  new(false),
			OpenWorld:   new(false),
		},
	}, s.runCreate)
}

type createArguments struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Tag   string `json:"tag"`
}

func (s store) runCreate(ctx context.Context, call *mcp.ToolCall, in createArguments) (note, error) {
	if len(in.Body) > maxBody {
		return note{}, fmt.Errorf("the body has %d bytes, at most %d are allowed", len(in.Body), maxBody)
	}
	n, err := s.create(ctx, note{Title: in.Title, Body: in.Body, Tag: in.Tag, Owner: call.Principal})
	if err != nil {
		return note{}, err
	}
	call.Publish(mcp.ResourcesListChanged())
	return n, nil
}
