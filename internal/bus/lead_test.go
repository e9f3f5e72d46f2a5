package bus

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPace(t *testing.T) {
	var p pace
	assert.False(t, p.quick(), "nothing is known")
	for range paceQuick {
		p.note(quick)
	}
	assert.True(t, p.quick())
	p.note(quick + 1)
	assert.False(t, p.quick())

	for range 10 * paceMost {
		p.note(0)
	}
	for i := range 6 {
		p.note(time.Hour)
		assert.True(t, p.quick(), "after %d", i)
	}
	p.note(time.Hour)
	assert.False(t, p.quick())
}

func TestPacesAreByToolAndBounded(t *testing.T) {
	var p paces
	assert.Same(t, p.of("w.1.call.echo"), p.of("w.2.call.echo"))
	assert.NotSame(t, p.of("w.1.call.echo"), p.of("w.1.call.pay"))
	for i := range 2 * maxPaces {
		p.of(strconv.Itoa(i))
	}
	assert.EqualValues(t, maxPaces, p.count.Load())
	unknown := p.of("one too many")
	assert.NotSame(t, unknown, p.of("one too many"))
}
