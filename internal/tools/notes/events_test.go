package notes_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Who listens is told of each change, and of nothing else.
func TestEvents(t *testing.T) {
	r := newRig()
	var published []mcp.Event
	c := r.as("ann")
	c.events = func(e mcp.Event) { published = append(published, e) }
	take := func() []mcp.Event {
		taken := published
		published = nil
		return taken
	}

	n := c.create(t, "Groceries", "Milk.", "")
	assert.Equal(t, []mcp.Event{mcp.ResourcesListChanged()}, take())
	c.list(t, "notes_list", map[string]any{})
	arguments := map[string]any{"id": n.ID}
	require.Error(t, c.run(t, "notes_delete", arguments, nil), "it asks")
	require.NoError(t, c.answering(`"no"`).run(t, "notes_delete", arguments, &struct{}{}))
	assert.Empty(t, take())
	require.NoError(t, c.answering(`"yes"`).run(t, "notes_delete", arguments, &struct{}{}))
	assert.Equal(t, []mcp.Event{mcp.ResourcesListChanged(), mcp.ResourceUpdated("notes://" + n.ID)}, take())
	require.Error(t, c.answering(`"yes"`).run(t, "notes_delete", arguments, nil), "it is gone")
	r.bucket.fail = errors.New("the disk is full")
	require.Error(t, c.run(t, "notes_create", map[string]any{"title": "t", "body": ""}, nil))
	assert.Empty(t, take())
}
