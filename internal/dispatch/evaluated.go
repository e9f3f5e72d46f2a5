package dispatch

import "github.com/santhosh-tekuri/jsonschema/v6"

// markWork is the work of noting one element, which takes memory too.
const markWork = 8

// evaluated has the elements of a value that keywords have had a say about, for
// unevaluatedProperties and unevaluatedItems.
type evaluated struct {
	all   bool
	names map[string]bool
	first int          // so many items
	items map[int]bool // and these
}

// merge adds what other has, and returns the work that it was.
func (e *evaluated) merge(other *evaluated) int {
	e.all = e.all || other.all
	e.first = max(e.first, other.first)
	for name := range other.names {
		e.addName(name)
	}
	for i := range other.items {
		e.addItem(i)
	}
	return markWork * (len(other.names) + len(other.items))
}

func (e *evaluated) addName(name string) {
	if e.names == nil {
		e.names = map[string]bool{}
	}
	e.names[name] = true
}

func (e *evaluated) addItem(i int) {
	if e.items == nil {
		e.items = map[int]bool{}
	}
	e.items[i] = true
}

func (e *evaluated) hasName(name string) bool { return e.all || e.names[name] }
func (e *evaluated) hasItem(i int) bool       { return e.all || i < e.first || e.items[i] }

// checkUnevaluated applies schemas to the elements that no other keyword has had
// a say about.
func (a *application) checkUnevaluated() {
	switch value := a.value.(type) {
	case map[string]any:
		if a.UnevaluatedProperties != nil {
			a.eachMember(value, func(name string, element any) {
				if !a.evaluated.hasName(name) {
					a.require(a.within(a.UnevaluatedProperties, member(name), element, a.found))
				}
			})
			a.evaluated.all = true
		}
	case []any:
		if a.UnevaluatedItems != nil {
			a.checkUnevaluatedItems(a.UnevaluatedItems, value)
			a.evaluated.all = true
		}
	}
}

func (a *application) checkUnevaluatedItems(schema *jsonschema.Schema, array []any) {
	for i := 0; i < len(array) && a.spend(1) && !a.done(); i++ {
		if !a.evaluated.hasItem(i) {
			a.require(a.within(schema, item(i), array[i], a.found))
		}
	}
}
