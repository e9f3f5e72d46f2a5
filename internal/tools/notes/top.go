package notes

import "slices"

// A top keeps the first limit of the values added to it, in the order of
// compare. It never holds more than about twice as many.
type top[T any] struct {
	limit   int
	compare func(a, b T) int

	values []T
	more   bool // some values did not fit
}

func (t *top[T]) add(v T) {
	t.values = append(t.values, v)
	if len(t.values) > 2*t.limit {
		t.cut()
	}
}

// sorted returns the values kept.
func (t *top[T]) sorted() []T {
	t.cut()
	return t.values
}

func (t *top[T]) cut() {
	slices.SortFunc(t.values, t.compare)
	if len(t.values) > t.limit {
		clear(t.values[t.limit:])
		t.values, t.more = t.values[:t.limit], true
	}
}
