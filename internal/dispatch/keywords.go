package dispatch

import (
	"encoding/json"
	"maps"
	"math/big"
	"math/bits"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// What keywords cost in steps.
const (
	bytesPerStep       = 32 // of a text that is counted or compared
	formatBytes        = 2  // of a text that has to have a format
	shortNumber        = 18 // characters of a number without exponent
	shortSteps         = 8  // to make a fraction of one, at most
	longSteps          = 64 // to make one of any other
	instructionsInStep = 8  // of a regular expression, each run on each byte
)

// checkAny checks the keywords for all types, and tells whether it is worth to
// look at the others.
func (a *application) checkAny() bool {
	if a.types != 0 && a.types&typesOf(a.value) == 0 {
		if a.fails() {
			a.add(&kind.Type{Want: a.Types.ToStrings()})
		}
		return false
	}
	if a.constant != nil && !a.constant.has(a.validation, a.value) {
		if a.fails() {
			a.add(&kind.Const{Got: a.value, Want: *a.Const})
		}
		return false
	}
	if a.enum != nil && !a.enum.has(a.validation, a.value) {
		if a.fails() {
			a.add(&kind.Enum{Got: a.value, Want: a.Enum.Values})
		}
		return false
	}
	return a.Format == nil || a.checkFormat()
}

func (a *application) checkFormat() bool {
	text, ok := a.value.(string)
	if !ok {
		return true
	}
	check := a.Format.Validate
	if a.Format.Name == "regex" {
		check = checkRegex
	}
	if !a.spend(len(text) / formatBytes) {
		return false
	}
	err := check(text)
	if err != nil && a.fails() {
		a.add(&kind.Format{Got: text, Want: a.Format.Name, Err: err})
	}
	return err == nil
}

// checkRegex leaves out to compile what is written in the regular expression,
// which can take ten thousands of bytes for one.
func checkRegex(text any) error {
	_, err := syntax.Parse(text.(string), syntax.Perl)
	return err
}

func (a *application) checkString(text string) {
	if a.MinLength != nil || a.MaxLength != nil {
		a.checkLength(text)
	}
	if a.pattern != nil && !a.pattern.matches(a.validation, text) && a.fails() {
		a.add(&kind.Pattern{Got: text, Want: a.Pattern.String()})
	}
}

func (a *application) checkLength(text string) {
	if !a.spend(len(text) / bytesPerStep) {
		return
	}
	length := utf8.RuneCountInString(text)
	if a.MinLength != nil && length < *a.MinLength && a.fails() {
		a.add(&kind.MinLength{Got: length, Want: *a.MinLength})
	}
	if a.MaxLength != nil && length > *a.MaxLength && a.fails() {
		a.add(&kind.MaxLength{Got: length, Want: *a.MaxLength})
	}
}

func (a *application) checkNumber(text string) {
	if a.Minimum == nil && a.Maximum == nil && a.ExclusiveMinimum == nil && a.ExclusiveMaximum == nil && a.MultipleOf == nil {
		return
	}
	number := a.fraction(text)
	if number == nil {
		return
	}
	if a.Minimum != nil && number.Cmp(a.Minimum) < 0 && a.fails() {
		a.add(&kind.Minimum{Got: number, Want: a.Minimum})
	}
	if a.Maximum != nil && number.Cmp(a.Maximum) > 0 && a.fails() {
		a.add(&kind.Maximum{Got: number, Want: a.Maximum})
	}
	if a.ExclusiveMinimum != nil && number.Cmp(a.ExclusiveMinimum) <= 0 && a.fails() {
		a.add(&kind.ExclusiveMinimum{Got: number, Want: a.ExclusiveMinimum})
	}
	if a.ExclusiveMaximum != nil && number.Cmp(a.ExclusiveMaximum) >= 0 && a.fails() {
		a.add(&kind.ExclusiveMaximum{Got: number, Want: a.ExclusiveMaximum})
	}
	if a.MultipleOf != nil && !new(big.Rat).Quo(number, a.MultipleOf).IsInt() && a.fails() {
		a.add(&kind.MultipleOf{Got: number, Want: a.MultipleOf})
	}
}

// fraction returns nil if there is too much to check.
func (a *application) fraction(text string) *big.Rat {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return new(big.Rat).SetInt64(n)
	}
	steps := longSteps
	if len(text) <= shortNumber && !strings.ContainsAny(text, "eE") {
		steps = shortSteps
	}
	if !a.spend(steps) {
		return nil
	}
	number, _ := new(big.Rat).SetString(text)
	return number
}

func (a *application) checkArray(array []any) {
	if a.MinItems != nil && len(array) < *a.MinItems && a.fails() {
		a.add(&kind.MinItems{Got: len(array), Want: *a.MinItems})
	}
	if a.MaxItems != nil && len(array) > *a.MaxItems && a.fails() {
		a.add(&kind.MaxItems{Got: len(array), Want: *a.MaxItems})
	}
	if a.UniqueItems && !a.done() {
		a.checkUnique(array)
	}
	a.checkItems(array)
	if a.Contains != nil && !a.done() {
		a.checkContains(array)
	}
}

func (a *application) checkUnique(array []any) {
	places := make(map[string]int, len(array))
	for i, element := range array {
		key := string(appendKey(a.validation, nil, element))
		if a.work < 0 {
			return
		}
		if first, ok := places[key]; ok {
			if a.fails() {
				a.add(&kind.UniqueItems{Duplicates: [2]int{first, i}})
			}
			return
		}
		places[key] = i
	}
}

// checkItems checks the schemas for items: for those at the start, and for the
// others.
func (a *application) checkItems(array []any) {
	for i := 0; i < min(len(a.prefix), len(array)) && !a.done(); i++ {
		a.require(a.within(a.prefix[i], item(i), array[i], a.found))
	}
	rest := array[min(len(a.prefix), len(array)):]
	switch {
	case a.rest != nil:
		for i := 0; i < len(rest) && !a.done(); i++ {
			a.require(a.within(a.rest, item(len(a.prefix)+i), rest[i], a.found))
		}
	case a.AdditionalItems == false && len(rest) > 0 && a.fails():
		a.add(&kind.AdditionalItems{Count: len(rest)})
	}
	if a.evaluated != nil {
		a.evaluated.first = max(a.evaluated.first, len(a.prefix))
		a.evaluated.all = a.evaluated.all || a.rest != nil
	}
}

func (a *application) checkContains(array []any) {
	tried, matched := a.found.fork(), 0
	least, most := 1, len(array)
	if a.MinContains != nil {
		least = *a.MinContains
	}
	if a.MaxContains != nil {
		most = *a.MaxContains
	}
	for i := 0; i < len(array) && a.work >= 0; i++ {
		if a.within(a.Contains, item(i), array[i], tried) {
			matched++
			a.noteItem(i)
		}
	}
	if matched < least && a.fails() {
		if a.MinContains != nil {
			a.add(&kind.MinContains{Want: least})
		} else {
			a.add(&kind.Contains{})
		}
		a.merge(tried)
	}
	if matched > most && a.fails() {
		a.add(&kind.MaxContains{Want: most})
	}
}

func (a *application) checkObject(object map[string]any) {
	if a.MinProperties != nil && len(object) < *a.MinProperties && a.fails() {
		a.add(&kind.MinProperties{Got: len(object), Want: *a.MinProperties})
	}
	if a.MaxProperties != nil && len(object) > *a.MaxProperties && a.fails() {
		a.add(&kind.MaxProperties{Got: len(object), Want: *a.MaxProperties})
	}
	if missing := a.missing(object, a.Required); missing != nil && a.fails() {
		a.add(&kind.Required{Missing: missing})
	}
	for _, d := range a.dependents {
		if _, ok := object[d.name]; ok && !a.done() {
			a.checkDependent(object, d)
		}
	}
	if a.hasMembers && !a.done() {
		a.checkMembers(object)
	}
	if a.PropertyNames != nil && !a.done() {
		a.checkNames(object)
	}
}

// missing returns the names that object lacks, only the first if they need not
// be described.
func (a *application) missing(object map[string]any, required []string) (missing []string) {
	a.spend(len(required))
	for _, name := range required {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
			if a.found == nil {
				break
			}
		}
	}
	return missing
}

func (a *application) checkDependent(object map[string]any, d dependent) {
	if d.schema != nil {
		a.require(a.inPlace(d.schema, a.found))
	}
	if missing := a.missing(object, d.required); missing != nil && a.fails() {
		a.add(&kind.DependentRequired{Prop: d.name, Missing: missing})
	}
}

// checkMembers checks the schemas for members of certain names, and for all
// others.
func (a *application) checkMembers(object map[string]any) {
	var additional []string
	a.eachMember(object, func(name string, element any) {
		if a.checkNamed(name, element) {
			a.noteName(name)
			return
		}
		switch schema := a.AdditionalProperties.(type) {
		case *jsonschema.Schema:
			a.require(a.within(schema, member(name), element, a.found))
		case bool:
			if !schema && a.fails() {
				additional = append(additional, name)
			}
		}
	})
	if len(additional) > 0 {
		a.add(&kind.AdditionalProperties{Properties: additional})
	}
	if a.evaluated != nil && a.AdditionalProperties != nil {
		a.evaluated.all = true
	}
}

// checkNamed tells whether there is a schema for the name.
func (a *application) checkNamed(name string, element any) bool {
	schema, named := a.Properties[name]
	if named {
		a.require(a.within(schema, member(name), element, a.found))
	}
	for _, p := range a.patterns {
		if p.matches(a.validation, name) {
			named = true
			a.require(a.within(p.schema, member(name), element, a.found))
		}
	}
	return named
}

func (a *application) checkNames(object map[string]any) {
	a.eachMember(object, func(name string, _ any) {
		if !a.push(a.nesting+1, a.PropertyNames, name, nil).run() && a.fails() {
			a.add(&kind.PropertyNames{Property: name})
		}
	})
}

// eachMember calls check for the members of object until all is done, in the
// order of their names if violations are described.
func (a *application) eachMember(object map[string]any, check func(name string, element any)) {
	if a.found == nil {
		if !a.spend(len(object)) {
			return
		}
		for name, element := range object {
			if a.done() {
				return
			}
			check(name, element)
		}
		return
	}
	if !a.spend(sortSteps(object)) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if a.done() {
			return
		}
		check(name, object[name])
	}
}

// sortSteps are those of sorting the names of object.
func sortSteps(object map[string]any) int { return len(object) * (1 + bits.Len(uint(len(object)))/2) }

func (a *application) noteName(name string) {
	if a.evaluated != nil && a.spend(markWork) {
		a.evaluated.addName(name)
	}
}

func (a *application) noteItem(i int) {
	if a.evaluated != nil && a.spend(markWork) {
		a.evaluated.addItem(i)
	}
}

// types is a set of JSON types.
type types int

const (
	typeNull types = 1 << iota
	typeBoolean
	typeNumber
	typeInteger
	typeString
	typeArray
	typeObject
)

// typeNames are those of a schema.
var typeNames = map[string]types{
	"null": typeNull, "boolean": typeBoolean, "number": typeNumber, "integer": typeInteger,
	"string": typeString, "array": typeArray, "object": typeObject,
}

// typesOf returns the types of value: a number may be an integer too.
func typesOf(value any) types {
	switch value := value.(type) {
	case bool:
		return typeBoolean
	case json.Number:
		if isInteger(string(value)) {
			return typeNumber | typeInteger
		}
		return typeNumber
	case string:
		return typeString
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	}
	return typeNull
}
