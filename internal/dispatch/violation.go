package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

var atLeast = map[bool]string{true: "at least "}

// maxViolations is how many violations of a schema a description lists.
const maxViolations = 8

// violations collects the first violations of a schema in the order of their
// places. The validator reports them in the order of a map.
type violations struct {
	first []*jsonschema.ValidationError
	total int
	some  bool // there may be more
}

// collect takes what err consists of: the alternatives of an anyOf or oneOf as
// well as the fact that none of them matched.
func (v *violations) collect(err *jsonschema.ValidationError) {
	switch err.ErrorKind.(type) {
	case *kind.PropertyNames: // its causes are about the name, not about a place in the value
		v.add(err)
		return
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
	default:
		v.add(err)
	}
	for _, cause := range err.Causes {
		v.collect(cause)
	}
}

func (v *violations) add(err *jsonschema.ValidationError) {
	v.total++
	i, _ := slices.BinarySearchFunc(v.first, err, compareViolations)
	if i < maxViolations {
		v.first = slices.Insert(v.first, i, err)
		v.first = v.first[:min(len(v.first), maxViolations)]
	}
}

func compareViolations(a, b *jsonschema.ValidationError) int {
	return cmp.Or(
		slices.Compare(a.InstanceLocation, b.InstanceLocation),
		strings.Compare(a.SchemaURL, b.SchemaURL),
		slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()),
	)
}

// full tells whether the description has all that it takes.
func (v *violations) full() bool { return len(v.first) == maxViolations }

// fork returns an empty collection for what may not count in the end, none if v
// is none.
func (v *violations) fork() *violations {
	if v == nil {
		return nil
	}
	return &violations{}
}

// merge adds what a fork has collected.
func (v *violations) merge(fork *violations) {
	total := v.total + fork.total
	for _, err := range fork.first {
		v.add(err)
	}
	v.total = total
}

func violationsOf(err error) *violations {
	v := &violations{}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		v.collect(invalid)
	}
	return v
}

// describe lists how value breaks a schema, one violation a line, in words that
// a model can act on. Values are shortened.
func (v *violations) describe(value any) string {
	if len(v.first) == 0 {
		return " they break the schema in more ways than can be told"
	}
	var text strings.Builder
	for _, violation := range v.first {
		path, given := locate(value, violation.InstanceLocation)
		fmt.Fprintf(&text, "\n- %s: %s", path, expectation(violation.ErrorKind))
		if showsValue(violation.ErrorKind) {
			fmt.Fprintf(&text, ", got %s", quote(given))
		}
	}
	if more := v.total - len(v.first); more > 0 {
		fmt.Fprintf(&text, "\n- and %s%d more", atLeast[v.some], more)
	}
	return text.String()
}

// firstKeyword is the place in the schema of the first thing that is wrong.
func (v *violations) firstKeyword() string {
	if len(v.first) == 0 {
		return "more places than can be told"
	}
	_, place, _ := strings.Cut(v.first[0].SchemaURL, "#")
	return "#" + place + "/" + strings.Join(v.first[0].ErrorKind.KeywordPath(), "/")
}

// locate follows the names and indices of location into value. path is a JSON
// path, such as $.items[2]["odd name"].
func locate(value any, location []string) (path string, at any) {
	var b strings.Builder
	b.WriteByte('$')
	for _, step := range location {
		switch v := value.(type) {
		case map[string]any:
			appendName(&b, step)
			value = v[step]
		case []any:
			fmt.Fprintf(&b, "[%s]", step)
			if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < len(v) {
				value = v[i]
			}
		}
	}
	return b.String(), value
}

func appendName(b *strings.Builder, name string) {
	const identifier = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	if name != "" && strings.Trim(name, identifier) == "" && len(name) <= maxShown {
		b.WriteString("." + name)
		return
	}
	b.WriteString("[" + quote(name) + "]")
}

// showsValue tells whether the value at the place says more than the message,
// which names the properties that matter of an object.
func showsValue(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Required, *kind.AdditionalProperties, *kind.PropertyNames, *kind.DependentRequired, *kind.Dependency:
		return false
	}
	return true
}

// expectation says what a keyword of the schema asks for.
func expectation(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "expected " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "expected one of " + quoteAll(k.Want)
	case *kind.Const:
		return "expected " + quote(k.Want)
	case *kind.Format:
		return "expected the format " + k.Want
	case *kind.Pattern:
		return "expected a string that matches " + quote(k.Want)
	case *kind.Required:
		return "missing " + quoteNames(k.Missing)
	case *kind.DependentRequired:
		return "missing " + quoteNames(k.Missing) + ", required beside " + quote(k.Prop)
	case *kind.Dependency:
		return "missing " + quoteNames(k.Missing) + ", required beside " + quote(k.Prop)
	case *kind.AdditionalProperties:
		return "unexpected " + quoteNames(slices.Sorted(slices.Values(k.Properties)))
	case *kind.PropertyNames:
		return "the name " + quote(k.Property) + " is not allowed"
	case *kind.AnyOf, *kind.OneOf:
		return alternatives(k)
	case *kind.Not, *kind.FalseSchema:
		return "expected something that is not excluded here"
	}
	return bound(k)
}

func alternatives(k jsonschema.ErrorKind) string {
	if one, ok := k.(*kind.OneOf); ok && len(one.Subschemas) > 0 {
		return "expected exactly one of the alternatives to match, but several do"
	}
	return "expected one of the alternatives to match"
}

// bound says what the keywords that compare or count ask for.
func bound(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "expected at least " + decimal(k.Want)
	case *kind.Maximum:
		return "expected at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "expected more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "expected less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "expected a multiple of " + decimal(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("expected at least %d characters and not %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("expected at most %d characters and not %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("expected at least %d items and not %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("expected at most %d items and not %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("expected at least %d properties and not %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("expected at most %d properties and not %d", k.Want, k.Got)
	case *kind.UniqueItems:
		return fmt.Sprintf("expected distinct items, but those at %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	}
	return "breaks the rule " + strings.Join(k.KeywordPath(), "/")
}

// decimal writes r exactly where that is short.
func decimal(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact || digits > maxShown {
		return shorten(r.RatString())
	}
	return shorten(r.FloatString(digits))
}

// quote is the JSON text of a value, shortened.
func quote(value any) string {
	encoded, _ := jsonrpc.Marshal(preview(value)) // what was decoded can be encoded
	return shorten(string(encoded))
}

// preview bounds what quote encodes of a long value only to throw it away.
func preview(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > maxShown {
			return v[:maxShown]
		}
	case []any:
		if len(v) > maxShown {
			return v[:maxShown]
		}
	}
	return value
}

func quoteNames(names []string) string {
	values := make([]any, len(names))
	for i, name := range names {
		values[i] = name
	}
	return quoteAll(values)
}

// quoteAll lists values, of which there may be any number.
func quoteAll(values []any) string {
	var quoted []string
	for _, value := range values[:min(len(values), maxViolations)] {
		quoted = append(quoted, quote(value))
	}
	if more := len(values) - len(quoted); more > 0 {
		quoted = append(quoted, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(quoted, ", ")
}
