package dispatch

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds on one validation. Arguments come from anybody, and a short schema can
// ask for years of work on them: alternatives that each refer to the whole again
// double it on every level of a value. The validator of the jsonschema package
// can neither be interrupted nor told to stop at the first violations, so that
// package compiles the schemas, and this one applies them.
//
// Spec: MCP 2026-07-28, Base Protocol, Composition-Keyword Resource Use.
const (
	maxWork    = 10_000_000 // steps, which take about a second
	maxNesting = 4096       // schemas that are being applied at once, within each other
)

// errTooMuch is the outcome of a validation that came to its bounds.
var errTooMuch = errors.New("there is too much to check")

// validate returns nil if value conforms, and else how it breaks the schema. Most
// values conform, so only what does not is looked at for all its violations.
func (s *schema) validate(value any) (*violations, error) {
	conforms, err := s.apply(value, nil)
	if conforms || err != nil {
		return nil, err
	}
	broken := &violations{}
	_, err = s.apply(value, broken)
	broken.some = err != nil
	return broken, nil
}

// apply tells whether value conforms to the schema. It stops at the first
// violation if found is nil.
func (s *schema) apply(value any, found *violations) (bool, error) {
	v := &validation{nodes: s.nodes, work: s.work}
	conforms := v.push(0, s.Schema, value, found).run()
	if v.work < 0 {
		return false, errTooMuch
	}
	return conforms, nil
}

// A validation is what the applications of one have in common.
type validation struct {
	nodes  map[*jsonschema.Schema]*node
	frames []*application // by nesting, and used again
	work   int            // steps that are left: below 0, nothing that it finds counts
}

// push returns the application of schema to value, within the one before.
func (v *validation) push(nesting int, schema *jsonschema.Schema, value any, found *violations) *application {
	if nesting == len(v.frames) {
		v.frames = append(v.frames, &application{})
	}
	a := v.frames[nesting]
	*a = application{validation: v, node: v.nodes[schema], nesting: nesting, value: value, found: found}
	return a
}

// spend takes steps of work, and tells whether they were left.
func (v *validation) spend(steps int) bool {
	v.work -= steps
	return v.work >= 0
}

// An application is that of one schema to one value.
type application struct {
	*validation
	*node
	nesting   int  // the number of those that it is within
	step      step // from the value of the one around it to this one
	value     any
	found     *violations // takes the violations, nil if only the verdict counts
	evaluated *evaluated  // takes what was evaluated of the value, nil if that does not matter
	broken    bool
}

// run tells whether the value conforms. It has spent all work if that cannot be
// told.
func (a *application) run() bool {
	if a.nesting > maxNesting {
		a.work = -1
	}
	if !a.spend(1) {
		return false
	}
	switch {
	case a.Bool != nil:
		if !*a.Bool && a.fails() {
			a.add(&kind.FalseSchema{})
		}
	case a.Ref != nil && a.DraftVersion < 2019: // draft-07 ignores what is beside it
		a.require(a.inPlace(a.Ref, a.found))
	case a.checkAny():
		a.checkRest()
	}
	return !a.broken
}

// checkRest checks all keywords but those that say everything about the value.
func (a *application) checkRest() {
	if a.evaluated == nil && (a.UnevaluatedProperties != nil || a.UnevaluatedItems != nil) {
		a.evaluated = &evaluated{}
	}
	a.checkType()
	if !a.done() {
		a.checkReferences()
	}
	if !a.done() {
		a.checkCombinations()
	}
	if !a.done() {
		a.checkConditions()
	}
	if !a.done() {
		a.checkUnevaluated()
	}
}

// checkType checks the keywords for one type of values.
func (a *application) checkType() {
	switch value := a.value.(type) {
	case map[string]any:
		a.checkObject(value)
	case []any:
		a.checkArray(value)
	case string:
		a.checkString(value)
	case json.Number:
		a.checkNumber(string(value))
	}
}

// Steps that violations take.
const (
	countSteps = 4  // one of which there are enough
	keepSteps  = 64 // one that is kept for the description
)

// fails notes a violation, and tells whether it has to be described.
func (a *application) fails() bool {
	a.broken = true
	return a.found != nil && a.work >= 0
}

// require notes a violation that has been described where it is.
func (a *application) require(ok bool) {
	if !ok {
		a.broken = true
	}
}

// done tells whether nothing more has to be checked.
func (a *application) done() bool {
	return a.broken && a.found == nil || a.work < 0
}

func (a *application) add(k jsonschema.ErrorKind) {
	if a.found.full() { // of those in front of it
		a.found.total++
		a.spend(countSteps)
		return
	}
	a.spend(keepSteps + a.nesting)
	a.found.add(&jsonschema.ValidationError{SchemaURL: a.Location, InstanceLocation: a.path(), ErrorKind: k})
}

// merge adds violations that have been found on trial.
func (a *application) merge(tried *violations) {
	a.spend(len(tried.first) * (keepSteps + a.nesting))
	a.found.merge(tried)
}

// inPlace applies schema to the value itself.
func (a *application) inPlace(schema *jsonschema.Schema, found *violations) bool {
	in := a.push(a.nesting+1, schema, a.value, found)
	if a.evaluated == nil {
		return in.run()
	}
	noted := &evaluated{}
	in.evaluated = noted
	valid := in.run()
	if valid {
		a.spend(a.evaluated.merge(noted))
	}
	return valid
}

// within applies schema to an element of the value.
func (a *application) within(schema *jsonschema.Schema, step step, element any, found *violations) bool {
	in := a.push(a.nesting+1, schema, element, found)
	in.step = step
	return in.run()
}

// A step leads from a value to an element, or stays if it is zero.
type step struct {
	name  string
	index int // from 1, memberStep if name counts
}

const memberStep = -1

func member(name string) step { return step{name: name, index: memberStep} }
func item(i int) step         { return step{index: i + 1} }

// path leads from the root to the value.
func (a *application) path() []string {
	path := []string{}
	for _, at := range a.frames[:a.nesting+1] {
		switch {
		case at.step.index == memberStep:
			path = append(path, at.step.name)
		case at.step.index > 0:
			path = append(path, strconv.Itoa(at.step.index-1))
		}
	}
	return path
}

// checkReferences follows references.
func (a *application) checkReferences() {
	if a.Ref != nil {
		a.require(a.inPlace(a.Ref, a.found))
	}
	if a.DynamicRef != nil && !a.done() {
		a.require(a.inPlace(a.resolve(a.DynamicRef), a.found))
	}
}

// resolve finds the outermost resource on the way here that has the anchor.
func (a *application) resolve(ref *jsonschema.DynamicRef) *jsonschema.Schema {
	if ref.Anchor == "" || ref.Ref.DynamicAnchor != ref.Anchor {
		return ref.Ref
	}
	for _, at := range a.frames[:a.nesting+1] {
		a.spend(1)
		if schema, ok := at.anchors[ref.Anchor]; ok {
			return schema
		}
	}
	return ref.Ref
}

// checkCombinations checks allOf, anyOf, oneOf and not.
func (a *application) checkCombinations() {
	for _, schema := range a.AllOf {
		if a.done() {
			return
		}
		a.require(a.inPlace(schema, a.found))
	}
	if len(a.AnyOf) > 0 {
		a.checkAnyOf()
	}
	if len(a.OneOf) > 0 {
		a.checkOneOf()
	}
	if a.Not != nil && a.inPlace(a.Not, nil) && a.fails() {
		a.add(&kind.Not{})
	}
}

func (a *application) checkAnyOf() {
	tried, matched := a.found.fork(), false
	for _, schema := range a.AnyOf {
		if a.inPlace(schema, tried) {
			matched = true
			if a.evaluated == nil {
				break
			}
		}
	}
	if !matched && a.fails() {
		a.add(&kind.AnyOf{})
		a.merge(tried)
	}
}

func (a *application) checkOneOf() {
	tried, matched := a.found.fork(), -1
	for i, schema := range a.OneOf {
		switch {
		case !a.inPlace(schema, tried):
		case matched < 0:
			matched, tried = i, nil
		default:
			if a.fails() {
				a.add(&kind.OneOf{Subschemas: []int{matched, i}})
			}
			return
		}
	}
	if matched < 0 && a.fails() {
		a.add(&kind.OneOf{})
		a.merge(tried)
	}
}

func (a *application) checkConditions() {
	switch {
	case a.If == nil:
	case a.inPlace(a.If, nil):
		if a.Then != nil {
			a.require(a.inPlace(a.Then, a.found))
		}
	case a.Else != nil:
		a.require(a.inPlace(a.Else, a.found))
	}
}
