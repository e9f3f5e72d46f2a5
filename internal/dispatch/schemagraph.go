package dispatch

import (
	"fmt"
	"maps"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxApplied bounds the schemas that a schema applies to one value, itself and
// through others. Nobody could use what applies more.
const maxApplied = 10_000

// A node is a compiled schema with what is made once of it.
type node struct {
	*jsonschema.Schema
	types      types   // 0 for any
	constant   *values // nil if there is none
	enum       *values // nil if there is none
	pattern    *pattern
	patterns   []patternProperty
	dependents []dependent
	prefix     []*jsonschema.Schema // for the first items
	rest       *jsonschema.Schema   // for the others, nil if there is none
	hasMembers bool                 // it says something about members
	anchors    map[string]*jsonschema.Schema
}

// A pattern is a regular expression and what it costs: the time that it takes is
// bounded by the product of its instructions and the length of the text.
type pattern struct {
	jsonschema.Regexp
	instructions int
}

func (p *pattern) matches(v *validation, text string) bool {
	return v.spend(1+len(text)*p.instructions/instructionsInStep) && p.MatchString(text)
}

func newPattern(r jsonschema.Regexp) (*pattern, error) {
	parsed, err := syntax.Parse(r.String(), syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{Regexp: r, instructions: len(program.Inst)}, nil
}

// A patternProperty is a member of patternProperties.
type patternProperty struct {
	*pattern
	schema *jsonschema.Schema
}

// A dependent is what an object needs that has a member of that name.
type dependent struct {
	name     string
	schema   *jsonschema.Schema // nil for none
	required []string
}

// A schemaGraph finds the schemas that belong to one, and what stands against
// applying them.
type schemaGraph struct {
	nodes   map[*jsonschema.Schema]*node
	applied map[*jsonschema.Schema]float64 // to the value of each; 0 until it is known
}

// newSchemaGraph prepares compiled, which compiler has made of document.
func newSchemaGraph(compiler *jsonschema.Compiler, compiled *jsonschema.Schema, document any) (*schemaGraph, error) {
	g := &schemaGraph{nodes: map[*jsonschema.Schema]*node{}, applied: map[*jsonschema.Schema]float64{}}
	if err := g.explore(compiled); err != nil {
		return nil, err
	}
	if err := g.addAnchors(compiler, compiled.Location, document); err != nil {
		return nil, err
	}
	for schema := range g.nodes {
		if _, err := g.count(schema); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// explore adds schema and all that it refers to.
func (g *schemaGraph) explore(schema *jsonschema.Schema) error {
	if g.nodes[schema] != nil {
		return nil
	}
	if schema.DraftVersion != 7 && schema.DraftVersion != 2020 {
		return fmt.Errorf("%s is of a dialect that is not supported: use JSON Schema 2020-12 or draft-07", schema.Location)
	}
	n, err := newNode(schema)
	if err != nil {
		return err
	}
	g.nodes[schema] = n
	for _, child := range append(n.inPlace(), n.forElements()...) {
		if err := g.explore(child); err != nil {
			return err
		}
	}
	if schema.DynamicRef != nil {
		return g.explore(schema.DynamicRef.Ref)
	}
	return nil
}

// count returns how many schemas are applied if schema is, as if all
// alternatives were tried. It does not follow dynamic references.
func (g *schemaGraph) count(schema *jsonschema.Schema) (float64, error) {
	const open = -1
	switch known := g.applied[schema]; {
	case known == open:
		return 0, fmt.Errorf("%s applies itself to the same value, without end", schema.Location)
	case known > 0:
		return known, nil
	}
	g.applied[schema] = open
	total := 1.0
	for _, child := range g.nodes[schema].inPlace() {
		n, err := g.count(child)
		if err != nil {
			return 0, err
		}
		total += n
	}
	if total > maxApplied {
		return 0, fmt.Errorf("it applies more than %d schemas to one value", maxApplied)
	}
	g.applied[schema] = total
	return total, nil
}

func newNode(s *jsonschema.Schema) (n *node, err error) {
	n = &node{Schema: s}
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			n.types |= typeNames[name]
		}
	}
	if s.Const != nil {
		n.constant = newValues([]any{*s.Const})
	}
	if s.Enum != nil {
		n.enum = newValues(s.Enum.Values)
	}
	if s.Pattern != nil {
		if n.pattern, err = newPattern(s.Pattern); err != nil {
			return nil, err
		}
	}
	n.addDependents()
	n.addItems()
	n.hasMembers = s.Properties != nil || s.PatternProperties != nil || s.AdditionalProperties != nil
	return n, n.addPatterns()
}

func (n *node) addPatterns() error {
	for expression, schema := range n.PatternProperties {
		p, err := newPattern(expression)
		if err != nil {
			return err
		}
		n.patterns = append(n.patterns, patternProperty{p, schema})
	}
	slices.SortFunc(n.patterns, func(a, b patternProperty) int { return strings.Compare(a.String(), b.String()) })
	return nil
}

// addDependents puts the three keywords for dependents into one list.
func (n *node) addDependents() {
	for name, required := range n.DependentRequired {
		n.dependents = append(n.dependents, dependent{name: name, required: required})
	}
	for name, schema := range n.DependentSchemas {
		n.dependents = append(n.dependents, dependent{name: name, schema: schema})
	}
	for name, value := range n.Dependencies { // of draft-07
		required, _ := value.([]string)
		n.dependents = append(n.dependents, dependent{name: name, schema: asSchema(value), required: required})
	}
	slices.SortStableFunc(n.dependents, func(a, b dependent) int { return strings.Compare(a.name, b.name) })
}

// addItems makes no difference between the dialects.
func (n *node) addItems() {
	if n.DraftVersion >= 2020 {
		n.prefix, n.rest = n.PrefixItems, n.Items2020
		return
	}
	n.rest = asSchema(n.Items)
	if prefix, ok := n.Items.([]*jsonschema.Schema); ok {
		n.prefix, n.rest = prefix, asSchema(n.AdditionalItems)
	}
}

// inPlace are the schemas that n applies to the value itself, in a stable order.
func (n *node) inPlace() []*jsonschema.Schema {
	all := slices.Concat(n.AllOf, n.AnyOf, n.OneOf, []*jsonschema.Schema{n.Ref, n.Not, n.If, n.Then, n.Else})
	for _, d := range n.dependents {
		all = append(all, d.schema)
	}
	return withoutNil(all)
}

// forElements are the schemas that n applies to elements, in a stable order.
func (n *node) forElements() []*jsonschema.Schema {
	all := slices.Concat(n.prefix, []*jsonschema.Schema{
		n.rest, n.Contains, n.UnevaluatedItems, asSchema(n.AdditionalProperties), n.UnevaluatedProperties, n.PropertyNames,
	})
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		all = append(all, n.Properties[name])
	}
	for _, p := range n.patterns {
		all = append(all, p.schema)
	}
	return withoutNil(all)
}

func withoutNil(schemas []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(schemas, func(s *jsonschema.Schema) bool { return s == nil })
}

// asSchema returns nil for what is no schema, such as a list or false.
func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}

// addAnchors gives each node the dynamic anchors of its resource, of which some
// may be reached by dynamic references alone.
func (g *schemaGraph) addAnchors(compiler *jsonschema.Compiler, location string, document any) error {
	r := resources{roots: map[string]string{}, anchors: map[string]map[string]string{}}
	r.add(document, location, location)
	anchors := map[string]map[string]*jsonschema.Schema{}
	for root, locations := range r.anchors {
		anchors[root] = map[string]*jsonschema.Schema{}
		for name, location := range locations {
			schema, err := compiler.Compile(location)
			if err != nil {
				continue // it is no schema, but a value in one
			}
			if err := g.explore(schema); err != nil {
				return err
			}
			anchors[root][name] = schema
		}
	}
	for schema, n := range g.nodes {
		if root, ok := r.roots[schema.Location]; ok {
			n.anchors = anchors[root]
		} else if schema.DynamicAnchor != "" { // a meta-schema, which has its anchor at its root
			n.anchors = map[string]*jsonschema.Schema{schema.DynamicAnchor: schema}
		}
	}
	return nil
}

// resources has the resources of a document, of which dynamic references find
// anchors.
type resources struct {
	roots   map[string]string            // the location of the root of the resource, by that of a schema
	anchors map[string]map[string]string // locations of dynamic anchors, by root and name
}

// add looks at value, which is at location in the resource of root.
func (r *resources) add(value any, location, root string) {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			r.add(element, location+"/"+strconv.Itoa(i), root)
		}
	case map[string]any:
		if id, ok := value["$id"].(string); ok && !strings.HasPrefix(id, "#") {
			root = location
		}
		r.roots[location] = root
		if anchor, ok := value["$dynamicAnchor"].(string); ok {
			if r.anchors[root] == nil {
				r.anchors[root] = map[string]string{}
			}
			r.anchors[root][anchor] = location
		}
		for name, element := range value {
			r.add(element, location+"/"+escape(name), root)
		}
	}
}

// escape writes name as the jsonschema package does in locations.
func escape(name string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}
