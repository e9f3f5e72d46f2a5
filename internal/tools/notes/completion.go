package notes

import (
	"context"
	"strings"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// completeID suggests ids of notes. Nobody types an id by heart, so what was
// typed may also be a part of the title. The newest notes come first.
func (s store) completeID(ctx context.Context, _ *mcp.Call, query mcp.CompletionQuery) (*mcp.Completion, error) {
	typed, total := fold(query.Value), 0
	found := top[note]{limit: mcp.MaxCompletions, compare: newestFirst}
	_, err := s.scan(ctx, func(n note) {
		if strings.HasPrefix(n.ID, typed) || strings.Contains(fold(n.Title), typed) {
			total++
			found.add(n)
		}
	})
	if err != nil {
		return nil, err
	}
	completion := &mcp.Completion{Values: []string{}, Total: total}
	for _, n := range found.sorted() {
		completion.Values = append(completion.Values, n.ID)
	}
	return completion, nil
}
