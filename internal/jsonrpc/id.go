package jsonrpc

import "strings"

// An ID is a request's id as raw JSON: a string with its quotes or an integer.
// It is echoed byte for byte, so "1" is not 1 and 9007199254740993 keeps its
// last digit. The zero ID is that of a notification, or of a request whose id
// could not be read. IDs are comparable.
type ID string

// StringID returns the id of the string s.
func StringID(s string) ID { return ID(AppendString(nil, s)) }

// ParseID takes raw, a valid JSON value, as an id. A fraction, an exponent,
// null, a boolean, an array and an object are no ids.
func ParseID(raw []byte) (id ID, ok bool) {
	if len(raw) == 0 {
		return "", false
	}
	if raw[0] == '"' {
		return ID(raw), true
	}
	digits := strings.TrimPrefix(string(raw), "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	return ID(raw), true
}
