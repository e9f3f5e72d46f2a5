package mcp

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// A FieldType is what a field of a form takes.
type FieldType string

// The types that MCP allows in forms.
const (
	TextField    FieldType = "string"
	NumberField  FieldType = "number"
	IntegerField FieldType = "integer"
	BooleanField FieldType = "boolean"
	ChoiceField  FieldType = "choice"  // one of Options
	ChoicesField FieldType = "choices" // several of Options
)

// A Field is one field of a form. Which bounds count depends on Type; a nil or
// zero bound is none. Its JSON form is the restricted schema of MCP.
//
// Spec: Elicitation, Requested Schema.
type Field struct {
	Name        string
	Type        FieldType
	Title       string
	Description string
	Required    bool
	Default     any // of the field's type; nil for none

	MinLength, MaxLength int      // of text, in characters
	Format               string   // of text: email, uri, date or date-time, for the client to check
	Minimum, Maximum     *float64 // of numbers
	Options              []Option // of choices
	MinItems, MaxItems   int      // of several choices
}

// An Option is something to choose. A form whose options have titles shows
// these.
type Option struct {
	Value string
	Title string
}

// MarshalJSON encodes the field as the schema of its value.
func (f Field) MarshalJSON() ([]byte, error) {
	s := fieldSchema{
		Type: string(f.Type), Title: f.Title, Description: f.Description, Default: f.Default,
		MinLength: f.MinLength, MaxLength: f.MaxLength, Format: f.Format, Minimum: f.Minimum, Maximum: f.Maximum,
	}
	switch f.Type {
	case ChoiceField:
		s.Type = "string"
		s.Enum, s.OneOf = f.options()
	case ChoicesField:
		s.Type, s.MinItems, s.MaxItems = "array", f.MinItems, f.MaxItems
		s.Items = &itemSchema{}
		if enum, titled := f.options(); titled != nil {
			s.Items.AnyOf = titled
		} else {
			s.Items.Type, s.Items.Enum = "string", enum
		}
	}
	return jsonrpc.Marshal(s)
}

type fieldSchema struct {
	Type        string         `json:"type"`
	Title       string         `json:"title,omitzero"`
	Description string         `json:"description,omitzero"`
	MinLength   int            `json:"minLength,omitzero"`
	MaxLength   int            `json:"maxLength,omitzero"`
	Format      string         `json:"format,omitzero"`
	Minimum     *float64       `json:"minimum,omitzero"`
	Maximum     *float64       `json:"maximum,omitzero"`
	Enum        []string       `json:"enum,omitempty"`
	OneOf       []optionSchema `json:"oneOf,omitempty"`
	MinItems    int            `json:"minItems,omitzero"`
	MaxItems    int            `json:"maxItems,omitzero"`
	Items       *itemSchema    `json:"items,omitzero"`
	Default     any            `json:"default,omitzero"`
}

type itemSchema struct {
	Type  string         `json:"type,omitzero"`
	Enum  []string       `json:"enum,omitempty"`
	AnyOf []optionSchema `json:"anyOf,omitempty"`
}

type optionSchema struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// options returns the options as they are written with and without titles.
func (f Field) options() (values []string, titled []optionSchema) {
	if !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Title != "" }) {
		for _, o := range f.Options {
			values = append(values, o.Value)
		}
		return values, nil
	}
	for _, o := range f.Options {
		titled = append(titled, optionSchema{Const: o.Value, Title: o.Title})
	}
	return nil, titled
}

// accepts tells whether value, what a client sent, fits the field. An absent
// value fits one that is not required.
func (f Field) accepts(value jsontext.Value) bool {
	if IsAbsent(value) {
		return !f.Required
	}
	switch f.Type {
	case BooleanField:
		return value.Kind() == 't' || value.Kind() == 'f'
	case NumberField, IntegerField:
		return f.acceptsNumber(value)
	case ChoicesField:
		var chosen []string
		err := json.Unmarshal(value, &chosen)
		return err == nil && len(chosen) >= f.MinItems && (f.MaxItems == 0 || len(chosen) <= f.MaxItems) &&
			!slices.ContainsFunc(chosen, func(v string) bool { return !f.offers(v) })
	}
	text, ok := Text(value)
	if f.Type == ChoiceField {
		return ok && f.offers(text)
	}
	n := utf8.RuneCountInString(text)
	return ok && n >= f.MinLength && (f.MaxLength == 0 || n <= f.MaxLength)
}

func (f Field) acceptsNumber(value jsontext.Value) bool {
	var n float64
	if value.Kind() != '0' || json.Unmarshal(value, &n) != nil {
		return false
	}
	return (f.Type != IntegerField || n == math.Trunc(n)) &&
		(f.Minimum == nil || n >= *f.Minimum) && (f.Maximum == nil || n <= *f.Maximum)
}

func (f Field) offers(value string) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == value })
}
