// Package strictjson reads JSON texts in one pass, more strictly than
// encoding/json: text that two readers could understand differently is
// refused. It reports syntax faults, invalid UTF-8, nesting beyond MaxDepth and
// duplicate member names anywhere in a text, and allocates almost nothing.
//
// It is not an encoder and does not fill structs: a caller walks the members
// it knows with Reader.Object and takes the rest as raw, already checked
// bytes. Start at Parse.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// MaxDepth is how deeply arrays and objects may nest.
const MaxDepth = 128

// manyNames is the size of an object from which its names are looked up in a
// map, so that an object of n members costs O(n) and not O(n²). Below it, as in
// most records, comparing names is faster and allocates nothing.
const manyNames = 32

// ErrNotJSON is wrapped by every error about text that is not JSON.
var ErrNotJSON = errors.New("not valid JSON")

// ErrAmbiguous is wrapped by every error about text that is JSON but could be
// read in more than one way, or nests too deeply to be read safely.
var ErrAmbiguous = errors.New("ambiguous JSON")

// A Reader is positioned in front of a value. It belongs to the function
// handed to Parse and must not be kept.
type Reader struct {
	text  []byte
	pos   int
	depth int
	names [][]byte // names of all open objects, innermost last
	fault error    // the first ErrAmbiguous; reading goes on after it
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Parse checks that text is exactly one JSON value, which read must consume.
//
// Its error wraps ErrNotJSON or ErrAmbiguous, or is the one that read returned.
// After something ambiguous the text is read on to its end, so that read sees
// all members before Parse reports it; a syntax fault ends reading at once.
func Parse(text []byte, read func(*Reader) error) error {
	r := readers.Get().(*Reader)
	defer r.release()
	r.text = text
	r.space()
	if err := read(r); err != nil {
		return err
	}
	r.space()
	if r.pos != len(r.text) {
		return r.syntax("unexpected text after the value")
	}
	return r.fault
}

// release forgets the text, and a list of names that has grown large.
func (r *Reader) release() {
	names := r.names[:cap(r.names)]
	if len(names) > 16*manyNames {
		names = nil
	}
	clear(names)
	*r = Reader{names: names[:0]}
	readers.Put(r)
}

// Kind tells what the next value is by its first byte: '{', '[', '"', 't', 'f'
// or 'n'; any number is '0', anything else (no value at all) 0.
func (r *Reader) Kind() byte {
	switch c := r.peek(); c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

// Value consumes the next value, checks all of it and returns its bytes, which
// alias the text.
func (r *Reader) Value() ([]byte, error) {
	start := r.pos
	if err := r.value(); err != nil {
		return nil, err
	}
	return r.text[start:r.pos], nil
}

// Text consumes the next value; ok tells whether it was a string, and text is
// its decoded content.
func (r *Reader) Text() (text string, ok bool, err error) {
	content, ok, err := r.Bytes()
	return string(content), ok, err
}

// Bytes is Text without a copy: content may alias the text.
func (r *Reader) Bytes() (content []byte, ok bool, err error) {
	if r.peek() != '"' {
		return nil, false, r.value()
	}
	raw, escaped, err := r.str()
	if err != nil {
		return nil, false, err
	}
	if escaped {
		raw = unescape(raw)
	}
	return raw, true, nil
}

// Object consumes the next value. When it is an object, member is called for
// each member and must consume its value; other values are skipped and ok is
// false. name is only valid during the call.
//
// Names that differ only in case are as ambiguous as equal ones here, because
// lenient readers would confuse them with a member that this object defines.
func (r *Reader) Object(member func(name []byte) error) (ok bool, err error) {
	if r.peek() != '{' {
		return false, r.value()
	}
	return true, r.object(foldCase, member)
}

// Members is Object for objects whose names are their author's own, so that
// names which differ only in case are different members.
func (r *Reader) Members(member func(name []byte) error) (ok bool, err error) {
	if r.peek() != '{' {
		return false, r.value()
	}
	return true, r.object(exactCase, member)
}

// Array consumes the next value. When it is an array, element is called for
// each element and must consume it; other values are skipped and ok is false.
func (r *Reader) Array(element func() error) (ok bool, err error) {
	if r.peek() != '[' {
		return false, r.value()
	}
	return true, r.array(element)
}

func (r *Reader) value() error {
	switch c := r.peek(); c {
	case '"':
		_, _, err := r.str()
		return err
	case '{':
		return r.object(exactCase, nil)
	case '[':
		return r.array(nil)
	case 't':
		return r.literal("true")
	case 'f':
		return r.literal("false")
	case 'n':
		return r.literal("null")
	default:
		return r.number()
	}
}

// A casing tells whether names that differ only in case are the same name.
type casing bool

const (
	exactCase casing = false
	foldCase  casing = true
)

func (c casing) same(a, b []byte) bool {
	if c == foldCase {
		return bytes.EqualFold(a, b)
	}
	return bytes.Equal(a, b)
}

// object reads an object. A nil member skips every value.
func (r *Reader) object(casing casing, member func(name []byte) error) error {
	if r.depth == MaxDepth {
		return r.skipDeep()
	}
	r.open()
	seen := objectNames{first: len(r.names), casing: casing}
	for first := true; ; first = false {
		if done, err := r.next('}', first); done || err != nil {
			r.names = r.names[:seen.first]
			return err
		}
		name, err := r.name()
		if err != nil {
			return err
		}
		r.unique(&seen, name)
		if member == nil {
			err = r.value()
		} else {
			err = member(name)
		}
		if err != nil {
			return err
		}
	}
}

// array reads an array. A nil element skips every value.
func (r *Reader) array(element func() error) error {
	if r.depth == MaxDepth {
		return r.skipDeep()
	}
	r.open()
	for first := true; ; first = false {
		done, err := r.next(']', first)
		if done || err != nil {
			return err
		}
		if element == nil {
			err = r.value()
		} else {
			err = element()
		}
		if err != nil {
			return err
		}
	}
}

// open consumes the bracket that starts an array or object.
func (r *Reader) open() {
	r.depth++
	r.pos++
	r.space()
}

// skipDeep passes an array or object that is nested too deeply. It looks at
// nothing but strings and brackets, and needs no stack for them: the text is
// refused in any case, only what stands behind it is still to be read.
func (r *Reader) skipDeep() error {
	if r.fault == nil {
		r.fault = fmt.Errorf("%w: nested more than %d levels deep", ErrAmbiguous, MaxDepth)
	}
	for level := 0; r.pos < len(r.text); {
		switch r.text[r.pos] {
		case '"':
			if _, _, err := r.str(); err != nil {
				return err
			}
			continue
		case '{', '[':
			level++
		case '}', ']':
			level--
		}
		r.pos++
		if level == 0 {
			return nil
		}
	}
	return r.syntax("unexpected end of text")
}

// next positions the reader at the next element, or consumes end.
func (r *Reader) next(end byte, first bool) (done bool, err error) {
	if first && r.peek() != end {
		return false, nil
	}
	r.space()
	switch c := r.peek(); {
	case c == end:
		r.pos++
		r.depth--
		return true, nil
	case c == ',' && !first:
		r.pos++
		r.space()
		return false, nil
	}
	return false, r.syntax("expected ',' or '%c'", end)
}

// name reads a member's name and the colon behind it.
func (r *Reader) name() ([]byte, error) {
	if r.peek() != '"' {
		return nil, r.syntax("expected a member name")
	}
	name, _, err := r.Bytes()
	if err != nil {
		return nil, err
	}
	r.space()
	if r.peek() != ':' {
		return nil, r.syntax("expected ':'")
	}
	r.pos++
	r.space()
	return name, nil
}

// objectNames tells which names an open object has had so far: those of
// Reader.names from first on, or, in a large object, those whose keys are in a
// map.
type objectNames struct {
	first  int
	casing casing
	many   map[string]struct{}
}

func (r *Reader) unique(seen *objectNames, name []byte) {
	if seen.has(r.names, name) && r.fault == nil {
		r.fault = fmt.Errorf("%w: member %q occurs twice", ErrAmbiguous, shorten(name))
	}
	if seen.many == nil {
		r.names = append(r.names, name)
	}
}

func (n *objectNames) has(names [][]byte, name []byte) bool {
	if len(names)-n.first < manyNames {
		for _, old := range names[n.first:] {
			if n.casing.same(old, name) {
				return true
			}
		}
		return false
	}
	if n.many == nil {
		n.many = make(map[string]struct{}, 4*manyNames)
		for _, old := range names[n.first:] {
			n.many[n.key(old)] = struct{}{}
		}
	}
	key := n.key(name)
	_, dup := n.many[key]
	n.many[key] = struct{}{}
	return dup
}

// key maps names that count as the same to one string.
func (n *objectNames) key(name []byte) string {
	if n.casing == exactCase {
		return string(name)
	}
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, string(name))
}

func shorten(name []byte) []byte {
	const most = 64
	if len(name) > most {
		return name[:most]
	}
	return name
}

func (r *Reader) syntax(format string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d", ErrNotJSON, fmt.Sprintf(format, args...), r.pos)
}
