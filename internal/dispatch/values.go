package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// Bounds on the numbers that a schema is applied to. Validation computes with
// exact fractions, which cost time and memory by the value of the exponent.
const (
	maxNumberLength = 512 // characters
	maxExponent     = 512 // up or down
)

// decodeValue decodes raw, one JSON value, to what a schema validates: as
// encoding/json does into an any, but with each number as a json.Number, so that
// no digit gets lost. An error names the place of what it refuses, and no value.
func decodeValue(raw jsontext.Value) (any, error) { return decode(raw, boundedNumber) }

// decodeAnyNumber is decodeValue without bounds on numbers, for what does not
// compute with them.
func decodeAnyNumber(raw jsontext.Value) (any, error) {
	return decode(raw, func(text string) (any, error) { return json.Number(text), nil })
}

func decode(raw jsontext.Value, number numberFunc) (value any, err error) {
	err = strictjson.Parse(raw, func(r *strictjson.Reader) error {
		value, err = number.read(r)
		return err
	})
	if number, ok := errors.AsType[*numberError](err); ok {
		return nil, number
	}
	return value, err
}

// A numberFunc reads values, and makes what numbers are decoded to of their text.
type numberFunc func(text string) (any, error)

func (f numberFunc) read(r *strictjson.Reader) (any, error) {
	switch r.Kind() {
	case '{':
		return f.readObject(r)
	case '[':
		return f.readArray(r)
	case '"':
		text, _, err := r.Text()
		return text, err
	}
	raw, err := r.Value()
	if err != nil {
		return nil, err
	}
	switch raw[0] {
	case 't', 'f':
		return raw[0] == 't', nil
	case 'n':
		return nil, nil //nolint:nilnil // JSON's null
	}
	return f(string(raw))
}

func (f numberFunc) readObject(r *strictjson.Reader) (any, error) {
	object := map[string]any{}
	_, err := r.Members(func(name []byte) (err error) {
		key := string(name)
		object[key], err = f.read(r)
		return within(err, key)
	})
	return object, err
}

func (f numberFunc) readArray(r *strictjson.Reader) (any, error) {
	array := []any{}
	_, err := r.Array(func() error {
		element, err := f.read(r)
		if err != nil {
			return within(err, strconv.Itoa(len(array)))
		}
		array = append(array, element)
		return nil
	})
	return array, err
}

func boundedNumber(text string) (any, error) {
	if !isBounded(text) {
		return nil, &numberError{}
	}
	return json.Number(text), nil
}

func isBounded(number string) bool {
	if len(number) > maxNumberLength {
		return false
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// A numberError tells where a number is out of range.
type numberError struct{ pointer jsontext.Pointer }

// within adds to the place that err names, if it names one, that it is in the
// member or element of that name.
func within(err error, name string) error {
	if number, ok := err.(*numberError); ok { //nolint:errorlint // from read, which wraps nothing
		number.pointer = jsontext.Pointer("").AppendToken(name) + number.pointer
	}
	return err
}

func (e *numberError) Error() string {
	return fmt.Sprintf("the number at %q is out of range: at most %d characters and an exponent between -%d and %d are supported",
		shorten(string(e.pointer)), maxNumberLength, maxExponent, maxExponent)
}
