package dispatch

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schemaGraph has which schemas apply which others, as far as a schema alone
// tells.
type schemaGraph struct {
	links map[*jsonschema.Schema]links
	nodes []*jsonschema.Schema       // all, those first that are reached first
	index map[*jsonschema.Schema]int // in nodes

	expansions map[string]expansion                        // of counts, by their key
	anchors    map[string]*jsonschema.Schema               // by dynamic anchor, the first
	inPlace    map[*jsonschema.Schema][]*jsonschema.Schema // to the value itself
	order      []*jsonschema.Schema                        // each before those that it applies in place
}

func newSchemaGraph(root *jsonschema.Schema) *schemaGraph {
	g := &schemaGraph{
		links:   map[*jsonschema.Schema]links{},
		index:   map[*jsonschema.Schema]int{},
		anchors: map[string]*jsonschema.Schema{},
		inPlace: map[*jsonschema.Schema][]*jsonschema.Schema{},

		expansions: map[string]expansion{},
	}
	g.explore(root)
	visited, open := map[*jsonschema.Schema]bool{}, map[*jsonschema.Schema]bool{}
	for _, s := range g.nodes {
		g.visit(s, visited, open)
	}
	slices.Reverse(g.order)
	return g
}

// explore finds all schemas.
func (g *schemaGraph) explore(s *jsonschema.Schema) {
	if _, known := g.links[s]; known {
		return
	}
	g.index[s] = len(g.nodes)
	g.nodes = append(g.nodes, s)
	if _, known := g.anchors[s.DynamicAnchor]; !known && s.DynamicAnchor != "" {
		g.anchors[s.DynamicAnchor] = s
	}
	l := newLinks(s)
	g.links[s] = l
	for _, child := range l.all() {
		g.explore(child)
	}
	if s.DynamicRef != nil { // which may be all that leads there
		g.explore(s.DynamicRef.Ref)
	}
}

// visit puts s, and before it what it applies in place, at the end of the order.
// A schema that leads back to itself in place is a link less, as the validator
// stops there too.
func (g *schemaGraph) visit(s *jsonschema.Schema, visited, open map[*jsonschema.Schema]bool) {
	if visited[s] {
		return
	}
	visited[s], open[s] = true, true
	for _, next := range g.appliedInPlace(s) {
		if !open[next] {
			g.inPlace[s] = append(g.inPlace[s], next)
			g.visit(next, visited, open)
		}
	}
	delete(open, s)
	g.order = append(g.order, s)
}

// appliedInPlace resolves a dynamic reference to the first schema with that
// anchor, which the validator nearly always comes upon first, too.
func (g *schemaGraph) appliedInPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	inPlace := g.links[s].inPlace
	if s.DynamicRef != nil {
		inPlace = append(inPlace, cmp.Or(g.anchors[s.DynamicRef.Anchor], s.DynamicRef.Ref))
	}
	return inPlace
}

// links are the schemas that a schema applies.
type links struct {
	inPlace    []*jsonschema.Schema          // to the value itself
	named      map[string]*jsonschema.Schema // to the element at a place
	elsewhere  []*jsonschema.Schema          // to elements at places that it does not name
	everywhere []*jsonschema.Schema          // to all elements
}

// countAt adds n to the counts of the schemas that are applied to the element at
// place.
func (l links) countAt(place string, n float64, c counts) {
	for _, child := range l.everywhere {
		c[child] += n
	}
	if child, ok := l.named[place]; ok {
		c[child] += n
		return
	}
	for _, child := range l.elsewhere {
		c[child] += n
	}
}

// all are the schemas that a schema refers to, in a stable order.
func (l links) all() []*jsonschema.Schema {
	all := slices.Concat(l.inPlace, l.elsewhere, l.everywhere)
	for _, place := range slices.Sorted(maps.Keys(l.named)) {
		all = append(all, l.named[place])
	}
	return all
}

func newLinks(s *jsonschema.Schema) links {
	l := links{named: map[string]*jsonschema.Schema{}}
	l.inPlace = slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else})
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		l.inPlace = append(l.inPlace, s.DependentSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		l.inPlace = append(l.inPlace, asSchema(s.Dependencies[name]))
	}
	l.addObject(s)
	l.addArray(s)
	isNil := func(s *jsonschema.Schema) bool { return s == nil }
	l.inPlace = slices.DeleteFunc(l.inPlace, isNil)
	l.elsewhere = slices.DeleteFunc(l.elsewhere, isNil)
	l.everywhere = slices.DeleteFunc(l.everywhere, isNil)
	return l
}

func (l *links) addObject(s *jsonschema.Schema) {
	for name, child := range s.Properties {
		l.named["."+name] = child
	}
	l.elsewhere = append(l.elsewhere, asSchema(s.AdditionalProperties), s.UnevaluatedProperties)
	l.everywhere = append(l.everywhere, s.PropertyNames)
	patterns := slices.SortedFunc(maps.Keys(s.PatternProperties), func(a, b jsonschema.Regexp) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, pattern := range patterns {
		l.everywhere = append(l.everywhere, s.PatternProperties[pattern])
	}
}

func (l *links) addArray(s *jsonschema.Schema) {
	prefix, _ := s.Items.([]*jsonschema.Schema) // of draft-07
	for i, child := range append(prefix, s.PrefixItems...) {
		l.named["["+strconv.Itoa(i)] = child
	}
	l.elsewhere = append(l.elsewhere, s.Items2020, asSchema(s.Items), asSchema(s.AdditionalItems), s.UnevaluatedItems)
	l.everywhere = append(l.everywhere, s.Contains)
}

// asSchema returns nil for what is no schema, such as a list or false.
func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}
