package tools

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	stdjson "encoding/json"

	"github.com/go-json-experiment/json"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A decoder makes the In of a tool from its arguments. These have been decoded
// once, to be validated: where In is a struct of plain fields, they are set from
// what that has found, and no long text is read a second time. Everything else is
// left to the JSON library, which has the last word on errors too.
type decoder[In any] struct {
	fields []field // nil if they are not all plain
}

// A field is one of the struct's that a member of the arguments goes to.
type field struct {
	index  int
	member string
	set    setter
}

// A setter sets a field; false leaves it to the JSON library.
type setter func(reflect.Value, any) bool

// setters has the types that are plain. Named types are not: they can have a JSON
// form of their own.
var setters = map[reflect.Type]setter{
	reflect.TypeFor[string](): func(f reflect.Value, v any) bool {
		s, ok := v.(string)
		f.SetString(s)
		return ok
	},
	reflect.TypeFor[bool](): func(f reflect.Value, v any) bool {
		b, ok := v.(bool)
		f.SetBool(b)
		return ok
	},
	reflect.TypeFor[int](): func(f reflect.Value, v any) bool {
		n, ok := v.(stdjson.Number)
		i, err := strconv.Atoi(string(n))
		f.SetInt(int64(i))
		return ok && err == nil
	},
	reflect.TypeFor[float64](): func(f reflect.Value, v any) bool {
		n, ok := v.(stdjson.Number)
		x, err := strconv.ParseFloat(string(n), 64)
		f.SetFloat(x)
		return ok && err == nil
	},
}

func newDecoder[In any]() decoder[In] {
	t := reflect.TypeFor[In]()
	if t.Kind() != reflect.Struct || t.NumMethod() > 0 || reflect.PointerTo(t).NumMethod() > 0 {
		return decoder[In]{}
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		set := setters[f.Type]
		if set == nil || !f.IsExported() || f.Anonymous || name == "" || strings.ContainsAny(name, `-'"\`) || tagged && options != "omitzero" {
			return decoder[In]{}
		}
		fields = append(fields, field{index: i, member: name, set: set})
	}
	return decoder[In]{fields: fields}
}

func (d decoder[In]) decode(call *mcp.ToolCall) (in In, err error) {
	if d.fields != nil && call.Values != nil && d.fill(reflect.ValueOf(&in).Elem(), call.Values) {
		return in, nil
	}
	var fresh In
	if err := json.Unmarshal(call.Arguments, &fresh); err != nil {
		return fresh, fmt.Errorf("read arguments: %w", err)
	}
	return fresh, nil
}

func (d decoder[In]) fill(in reflect.Value, values map[string]any) bool {
	for _, f := range d.fields {
		if v, ok := values[f.member]; ok && v != nil && !f.set(in.Field(f.index), v) {
			return false
		}
	}
	return true
}
