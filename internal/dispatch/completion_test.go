package dispatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVariables(t *testing.T) {
	for template, want := range map[string][]string{
		"":                               nil,
		"a://b":                          nil,
		"notes://{id}":                   {"id"},
		"a://{b}/c{/d*}{?e,f:3}{+g}{#h}": {"b", "d", "e", "f", "g", "h"},
		"a://{b":                         nil,
		"a://}{b}":                       {"b"},
	} {
		assert.Equal(t, want, variables(template), template)
	}
}
