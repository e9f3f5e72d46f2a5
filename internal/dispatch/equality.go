package dispatch

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// values is a set of JSON values, of enum or const. What it costs to look into
// it depends on the value that is looked for alone.
type values struct {
	keys  map[string]bool
	types types // of the values
}

func newValues(list []any) *values {
	set := &values{keys: make(map[string]bool, len(list))}
	unbounded := &validation{work: maxWork}
	for _, value := range list {
		set.keys[string(appendKey(unbounded, nil, value))] = true
		set.types |= typesOf(value)
	}
	return set
}

func (s *values) has(v *validation, value any) bool {
	if s.types&typesOf(value) == 0 {
		return false
	}
	var space [64]byte
	return s.keys[string(appendKey(v, space[:0], value))]
}

// appendKey appends a text that is the same for equal values, and for no others.
// It is of no use if it has spent all work.
func appendKey(v *validation, dst []byte, value any) []byte {
	if !v.spend(1) {
		return dst
	}
	switch value := value.(type) {
	case bool:
		return strconv.AppendBool(dst, value)
	case json.Number:
		return append(appendDecimal(dst, string(value)), ',')
	case string:
		return appendText(v, dst, value)
	case []any:
		dst = append(dst, '[')
		for _, element := range value {
			dst = appendKey(v, dst, element)
		}
		return append(dst, ']')
	case map[string]any:
		return appendObject(v, dst, value)
	}
	return append(dst, "null"...)
}

func appendObject(v *validation, dst []byte, object map[string]any) []byte {
	dst = append(dst, '{')
	if !v.spend(sortSteps(object)) {
		return dst
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		dst = appendText(v, dst, name)
		dst = appendKey(v, dst, object[name])
	}
	return append(dst, '}')
}

// appendText says the length first, so that no text can end in what looks like
// another value.
func appendText(v *validation, dst []byte, text string) []byte {
	if !v.spend(len(text) / bytesPerStep) {
		return dst
	}
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = append(dst, ':')
	return append(dst, text...)
}

// appendDecimal writes a number as an integer without zeros at its end, and an
// exponent.
func appendDecimal(dst []byte, number string) []byte {
	sign, digits, exponent := decimalOf(number)
	dst = append(dst, sign...)
	dst = append(dst, digits...)
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, int64(exponent), 10)
}

func isInteger(number string) bool {
	if strings.Trim(number, "-0123456789") == "" {
		return true
	}
	_, _, exponent := decimalOf(number)
	return exponent >= 0
}

// decimalOf takes a number with a bounded exponent apart. digits have no zeros
// at either end; 0 has no digits, no sign and no exponent.
func decimalOf(number string) (sign, digits string, exponent int) {
	mantissa := number
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa = number[:i]
		exponent, _ = strconv.Atoi(number[i+1:])
	}
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "", "", 0
	}
	return sign, significant, exponent + len(digits) - len(significant)
}
