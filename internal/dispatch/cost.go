package dispatch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The validator cannot be interrupted, and a short schema can make it work for
// years: alternatives that each refer to the whole again double the work on
// every level of a value. So the work is bounded before it begins.
//
// Spec: MCP 2026-07-28, Base Protocol, Composition-Keyword Resource Use.
const (
	maxApplied = 10_000     // schemas that are applied to the root of a value
	maxCost    = 10_000_000 // schemas that are applied in one validation, which takes about a second
)

// costLevels is how deep values are looked at apart; what is deeper counts like
// the last level.
const costLevels = 128

// A cost has for each level of a value the most schemas that are applied to one
// element, array or object there. Levels at the end that have none are left out.
type cost []float64

// affordable tells whether validating value, decoded from size bytes, stays
// within maxCost.
func (c cost) affordable(value any, size int) bool {
	most := 0.0
	for _, applied := range c {
		most = max(most, applied)
	}
	if most*float64(size) <= maxCost { // a byte is the shortest element
		return true
	}
	budget := float64(maxCost)
	return c.spend(&budget, value, 0)
}

// spend takes what the elements of value cost from budget, as long as there is
// some.
func (c cost) spend(budget *float64, value any, level int) bool {
	if level >= len(c) {
		return true
	}
	if *budget -= c[level]; *budget < 0 {
		return false
	}
	below := min(level+1, costLevels-1)
	switch v := value.(type) {
	case map[string]any:
		for _, element := range v {
			if !c.spend(budget, element, below) {
				return false
			}
		}
	case []any:
		for _, element := range v {
			if !c.spend(budget, element, below) {
				return false
			}
		}
	}
	return true
}

// measure returns the cost of a schema. It counts as if every alternative were
// tried and every pattern matched every name, and follows the worst path into a
// value.
func measure(root *jsonschema.Schema) (cost, error) {
	g := newSchemaGraph(root)
	var c cost
	level := visits{}
	level.add(g, counts{root: 1})
	for len(level) > 0 && len(c) < costLevels {
		most, next := level.expand(g)
		c = append(c, most)
		if most > maxCost {
			break // nobody gets deeper
		}
		if maps.EqualFunc(level, next, maps.Equal) { // and so are all levels below
			c = append(c, slices.Repeat(cost{most}, costLevels-len(c))...)
		}
		level = next
	}
	if c[0] > maxApplied {
		return nil, fmt.Errorf("it applies more than %d schemas to one value", maxApplied)
	}
	return c, nil
}

// counts tells how often each schema is applied to one value.
type counts map[*jsonschema.Schema]float64

// key is the same for equal counts, and for no others.
func (c counts) key(g *schemaGraph) string {
	var key []byte
	for _, s := range slices.SortedFunc(maps.Keys(c), func(a, b *jsonschema.Schema) int { return g.index[a] - g.index[b] }) {
		key = strconv.AppendInt(key, int64(g.index[s]), 36)
		key = append(key, ':')
		key = strconv.AppendFloat(key, c[s], 'g', -1, 64)
		key = append(key, ' ')
	}
	return string(key)
}

// raise makes c at least as large as other everywhere.
func (c counts) raise(other counts) {
	for s, n := range other {
		c[s] = max(c[s], n)
	}
}

// maxVisits bounds the different counts that are followed on one level. More are
// followed as one that is as large as all of them, and so overestimated.
const maxVisits = 128

// visits are the different counts that are possible on one level, by key.
type visits map[string]counts

func (v visits) add(g *schemaGraph, c counts) {
	if len(c) > 0 {
		v.addKeyed(c.key(g), c)
	}
}

func (v visits) addKeyed(key string, c counts) {
	const rest = "" // the key of no counts
	if _, known := v[key]; key != rest && (known || len(v) < maxVisits) {
		v[key] = c
		return
	}
	if v[rest] == nil {
		v[rest] = counts{}
	}
	v[rest].raise(c)
}

// expand returns how many schemas are applied at most, and what is possible one
// level deeper.
func (v visits) expand(g *schemaGraph) (most float64, below visits) {
	below = visits{}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		e, known := g.expansions[key]
		if !known || key == "" {
			e = g.expand(v[key])
			g.expansions[key] = e
		}
		most = max(most, e.total)
		for _, next := range slices.Sorted(maps.Keys(e.below)) {
			below.addKeyed(next, e.below[next])
		}
	}
	return most, below
}

// An expansion is what follows from counts.
type expansion struct {
	total float64 // schemas that are applied to the value
	below visits  // what is possible for its elements
}

// expand makes one visit of each place that a schema names, and one of all other
// places.
func (g *schemaGraph) expand(entered counts) expansion {
	e := expansion{below: visits{}}
	applied := g.spread(entered)
	places := map[string]bool{"": true}
	for s, n := range applied {
		e.total += n
		for place := range g.links[s].named {
			places[place] = true
		}
	}
	for place := range places {
		c := counts{}
		for s, n := range applied {
			g.links[s].countAt(place, n, c)
		}
		e.below.add(g, c)
	}
	return e
}

// spread adds to entered what its schemas apply to the value themselves.
func (g *schemaGraph) spread(entered counts) counts {
	applied := maps.Clone(entered)
	for _, s := range g.order {
		if n := applied[s]; n > 0 {
			for _, next := range g.inPlace[s] {
				applied[next] += n
			}
		}
	}
	return applied
}
