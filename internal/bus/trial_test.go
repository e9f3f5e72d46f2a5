package bus

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNotificationsOfOneRunOnly holds that a client hears of one run of its
// request, whichever is the first to say something.
func TestNotificationsOfOneRunOnly(t *testing.T) {
	var heard []string
	tr := &trial{notify: func(n []byte) { heard = append(heard, string(n)) }}
	tr.lost = 1 // the first run said nothing
	tr.pass([]byte("second: 1"))
	tr.pass([]byte("second: 2"))
	tr.lost = 2
	tr.pass([]byte("third: 1"))
	assert.Equal(t, []string{"second: 1", "second: 2"}, heard)
}
