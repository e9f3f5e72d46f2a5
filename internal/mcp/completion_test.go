package mcp_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestCompleteFrom(t *testing.T) {
	for value, want := range map[string][]string{
		"":          {"Paris", "park", "Rome", "Öl"},
		"pa":        {"Paris", "park"},
		"PARK":      {"park"},
		"par\u212a": {"park"}, // the Kelvin sign is a K of three bytes
		"parks":     {},
		"ö":         {"Öl"},
		"x":         {},
		"pari":      {"Paris"},
	} {
		assert.Equal(t, want, mcp.CompleteFrom(value, "Paris", "park", "Rome", "Öl").Values, value)
	}
}

func TestCompletionResult(t *testing.T) {
	values := func(n int) (values []string) {
		for i := range n {
			values = append(values, strconv.Itoa(i))
		}
		return values
	}
	for _, test := range []struct{ values, total, shown, wantTotal int }{
		{0, 0, 0, 0}, {1, 0, 1, 1}, {100, 0, 100, 100}, {101, 0, 100, 101}, {3, 2, 3, 3}, {3, 500, 3, 500}, {250, 1000, 100, 1000},
	} {
		got := (&mcp.Completion{Values: values(test.values), Total: test.total}).Result().Completion
		assert.Len(t, got.Values, test.shown)
		assert.Equal(t, test.wantTotal, got.Total)
		assert.Equal(t, test.wantTotal > test.shown, got.HasMore)
	}
}
