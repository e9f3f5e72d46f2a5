package mcp

import (
	"context"
	"strings"
	"unicode/utf8"
)

// MaxCompletions is how many values one answer has at most.
//
// Spec: MCP 2026-07-28, Completion, Completion Results.
const MaxCompletions = 100

// A CompletionQuery asks what the value of one argument of a prompt, or of one
// variable of a resource template, might become.
type CompletionQuery struct {
	Argument string            // the name of the argument or variable
	Value    string            // what the user has typed, maybe nothing
	Resolved map[string]string // the arguments that already have their values
}

// A Completion is the answer: the best values first. The client gets the first
// MaxCompletions of them.
type Completion struct {
	Values []string
	// Total is how many values there are in all; 0, or less than there are
	// Values, when Values has all of them.
	Total int
}

// A CompleteFunc suggests values. It may only suggest what the caller may see.
// Its argument is one that the prompt or template has. It is called
// concurrently, and cannot ask the client for input.
type CompleteFunc func(ctx context.Context, call *Call, query CompletionQuery) (*Completion, error)

// CompleteFrom suggests those of options that begin with value, whatever the
// case of their letters, in their order.
func CompleteFrom(value string, options ...string) *Completion {
	found := &Completion{Values: []string{}}
	for _, option := range options {
		if beginsWith(option, value) {
			found.Values = append(found.Values, option)
		}
	}
	return found
}

// beginsWith compares letter by letter, as the same one in another case may have
// another number of bytes.
func beginsWith(s, prefix string) bool {
	for _, letter := range prefix {
		_, size := utf8.DecodeRuneInString(s)
		if !strings.EqualFold(s[:size], string(letter)) {
			return false
		}
		s = s[size:]
	}
	return true
}

// A CompleteResult is the answer to completion/complete.
//
// Spec: schema, CompleteResult.
type CompleteResult struct {
	Completion CompletionValues `json:"completion"`
}

// CompletionValues are the values that a client is shown.
type CompletionValues struct {
	Values  []string `json:"values"`
	Total   int      `json:"total"`
	HasMore bool     `json:"hasMore"`
}

// Result cuts the completion down to what one answer may have.
func (c *Completion) Result() CompleteResult {
	shown := c.Values[:min(len(c.Values), MaxCompletions)]
	total := max(c.Total, len(c.Values))
	return CompleteResult{CompletionValues{Values: shown, Total: total, HasMore: total > len(shown)}}
}
