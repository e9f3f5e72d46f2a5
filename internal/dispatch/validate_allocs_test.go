//go:build !race

package dispatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAllocsOfValidation(t *testing.T) {
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, validationOfACall(t)), 14.0)
}
