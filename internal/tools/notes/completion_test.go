package notes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// The prompt's argument and the template's variable are both the id of a note,
// which is found by its beginning or by the title.
func TestCompleteID(t *testing.T) {
	r := newRig()
	milk := r.as("").create(t, "Buy MILK", "", "").ID
	bread := r.as("").create(t, "Buy bread", "", "").ID
	for _, complete := range []mcp.CompleteFunc{
		r.toolset.Prompts[0].Complete,
		r.toolset.Resources.Templates()[0].Complete,
	} {
		suggest := func(typed string) *mcp.Completion {
			completion, err := complete(t.Context(), &mcp.Call{}, mcp.CompletionQuery{Value: typed})
			require.NoError(t, err)
			return completion
		}
		assert.ElementsMatch(t, []string{milk, bread}, suggest("").Values)
		assert.Equal(t, []string{milk}, suggest("milk").Values)
		assert.Equal(t, []string{bread}, suggest(bread[:20]).Values)
		assert.Equal(t, &mcp.Completion{Values: []string{}}, suggest("no such note"))
		assert.Equal(t, 2, suggest("buy").Total)
	}
}

func TestCompleteIDsOfManyNotes(t *testing.T) {
	r := newRig()
	for range mcp.MaxCompletions + 20 {
		r.as("").create(t, "t", "", "")
	}
	completion, err := r.toolset.Prompts[0].Complete(t.Context(), &mcp.Call{}, mcp.CompletionQuery{})
	require.NoError(t, err)
	assert.Len(t, completion.Values, mcp.MaxCompletions)
	assert.Equal(t, mcp.MaxCompletions+20, completion.Total)
}
