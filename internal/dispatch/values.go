package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
//
// Names that occur twice are found by whoever made raw, the parser of requests
// or the encoder of outputs, and not looked for again.
func decodeValue(raw jsontext.Value) (any, error) {
	return decode(raw, jsontext.AllowDuplicateNames(true))
}

func decode(raw jsontext.Value, opts ...jsontext.Options) (any, error) {
	d := decoder{jsontext.NewDecoder(bytes.NewBuffer(raw), opts...)}
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return value, nil
}

type decoder struct{ *jsontext.Decoder }

func (d decoder) value() (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return token.String(), nil
	case '0':
		return d.number(token.String())
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil //nolint:nilnil // JSON's null
}

func (d decoder) object() (any, error) {
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func (d decoder) array() (any, error) {
	array := []any{}
	for d.PeekKind() != ']' {
		element, err := d.value()
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	_, err := d.ReadToken()
	return array, err
}

func (d decoder) number(text string) (any, error) {
	if len(text) > maxNumberLength || !boundedExponent(text) {
		return nil, fmt.Errorf("the number at %q is out of range: at most %d characters and an exponent between -%d and %d are supported",
			shorten(string(d.StackPointer())), maxNumberLength, maxExponent, maxExponent)
	}
	return json.Number(text), nil
}

func boundedExponent(number string) bool {
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return err == nil && -maxExponent <= exponent && exponent <= maxExponent
}
