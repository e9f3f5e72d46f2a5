package notes_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestTemplates(t *testing.T) {
	templates := newRig().toolset.Resources.Templates()
	require.Len(t, templates, 1)
	assert.Equal(t, "notes://{id}", templates[0].URITemplate)
	assert.Equal(t, "text/markdown", templates[0].MIMEType)
}

func TestResourcePages(t *testing.T) {
	r := newRig()
	var want []string
	for range 23 {
		want = append(want, "notes://"+r.as("").create(t, "t", "", "").ID)
	}
	slices.Sort(want)
	for _, limit := range []int{1, 5, 23, 100} {
		var got []string
		for after := ""; ; {
			page, err := r.toolset.Resources.List(t.Context(), &mcp.Call{}, after, limit)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			require.LessOrEqual(t, len(page), limit)
			for _, resource := range page {
				got = append(got, resource.URI)
			}
			after = got[len(got)-1]
		}
		assert.Equal(t, want, got, "limit %d", limit)
	}
}

func TestResourceEntry(t *testing.T) {
	r := newRig()
	n := r.as("").create(t, "Shopping", "müsli", "home")
	page, err := r.toolset.Resources.List(t.Context(), &mcp.Call{}, "", 10)
	require.NoError(t, err)
	assert.Equal(t, []mcp.Resource{{
		URI:         "notes://" + n.ID,
		Name:        n.ID,
		Title:       "Shopping",
		Description: `A note with the tag "home".`,
		MIMEType:    "text/markdown",
		Annotations: &mcp.Annotations{LastModified: "2026-07-28T12:00:01Z"},
		Size:        6,
	}}, page)
}

func TestRead(t *testing.T) {
	r := newRig()
	n := r.as("ada").create(t, "Shopping", "# milk", "")
	got, err := r.toolset.Resources.Read(t.Context(), &mcp.Call{Principal: "eve"}, "notes://"+n.ID)
	require.NoError(t, err)
	assert.Equal(t, &mcp.ReadResult{Contents: []mcp.ResourceContents{
		{URI: "notes://" + n.ID, MIMEType: "text/markdown", Text: new("# milk")},
	}}, got, "private and stale at once")

	for _, uri := range []string{
		"", n.ID, "notes://", "notes://" + strings.Repeat("a", 26), "notes://" + n.ID + "/", "NOTES://" + n.ID,
		"notes://" + strings.ToUpper(n.ID), "notes://*", "file:///etc/passwd", "file://" + n.ID,
	} {
		_, err := r.toolset.Resources.Read(t.Context(), &mcp.Call{}, uri)
		assert.ErrorIs(t, err, fs.ErrNotExist, uri)
	}
}

func TestResourceFailures(t *testing.T) {
	r := newRig()
	id := r.as("").create(t, "t", "", "").ID
	r.bucket.put(id, "corrupt")
	_, err := r.toolset.Resources.Read(t.Context(), &mcp.Call{}, "notes://"+id)
	require.ErrorContains(t, err, "decode note")
	assert.NotErrorIs(t, err, fs.ErrNotExist)

	r.bucket.fail = errors.New("no answer")
	_, err = r.toolset.Resources.Read(t.Context(), &mcp.Call{}, "notes://"+id)
	require.ErrorIs(t, err, r.bucket.fail)
	_, err = r.toolset.Resources.List(t.Context(), &mcp.Call{}, "", 10)
	require.ErrorIs(t, err, r.bucket.fail)
}

func TestReviewPrompt(t *testing.T) {
	r := newRig()
	require.Len(t, r.toolset.Prompts, 1)
	prompt := r.toolset.Prompts[0]
	assert.Equal(t, "review_note", prompt.Name)
	require.Len(t, prompt.Arguments, 1)
	assert.Equal(t, "note_id", prompt.Arguments[0].Name)
	assert.True(t, prompt.Arguments[0].Required)

	n := r.as("").create(t, "Plans", "# Go", "")
	got, err := prompt.Get(t.Context(), &mcp.Call{}, map[string]string{"note_id": n.ID})
	require.NoError(t, err)
	require.Len(t, got.Messages, 2)
	assert.Equal(t, mcp.RoleUser, got.Messages[0].Role)
	assert.Contains(t, *got.Messages[0].Content.Text, `review my note titled "Plans"`)
	assert.Equal(t, mcp.Message{Role: mcp.RoleUser, Content: mcp.EmbeddedResource(mcp.ResourceContents{
		URI: "notes://" + n.ID, MIMEType: "text/markdown", Text: new("# Go"),
	})}, got.Messages[1])

	for _, id := range []string{"", "x", strings.Repeat("a", 26), strings.Repeat("x", 10_000)} {
		_, err := prompt.Get(t.Context(), &mcp.Call{}, map[string]string{"note_id": id})
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.Less(t, len(err.Error()), 100)
	}
}
