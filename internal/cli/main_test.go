package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReserveHeap(t *testing.T) {
	for name, want := range map[string]int{"": headroom, "GOGC": 0, "GOMEMLIMIT": 0} {
		getenv := func(asked string) string {
			if asked == name {
				return "100"
			}
			return ""
		}
		assert.Len(t, reserveHeap(getenv), want, name)
	}
}
