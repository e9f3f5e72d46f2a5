package jsonrpc

import (
	stdjson "encoding/json"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// Marshal encodes v compactly and always to the same bytes. Strings that are
// not UTF-8 get replacement characters, as an answer is better than none. A
// Number of encoding/json is encoded as the number it holds.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), numbers)
}

// numbers makes a number of a Number, which would be a string by its kind.
var numbers = json.WithMarshalers(json.MarshalToFunc(func(e *jsontext.Encoder, n stdjson.Number) error {
	return e.WriteValue(jsontext.Value(n))
}))

// AppendResult appends the response that carries result, an encoded JSON
// object in any number of pieces, to dst.
func AppendResult(dst []byte, id ID, result ...[]byte) []byte {
	dst = appendOpening(dst, id)
	dst = append(dst, `"result":`...)
	for _, piece := range result {
		dst = append(dst, piece...)
	}
	return append(dst, '}')
}

// AppendError appends the response that carries e to dst. The zero ID is left
// out, since MCP has no null ids. Data that cannot be encoded is left out too.
func AppendError(dst []byte, id ID, e *Error) []byte {
	object, err := Marshal(e)
	if err != nil {
		object, _ = Marshal(&Error{Code: e.Code, Message: e.Message})
	}
	dst = appendOpening(dst, id)
	dst = append(dst, `"error":`...)
	dst = append(dst, object...)
	return append(dst, '}')
}

// AppendNotification appends the notification of method with params, an
// encoded JSON object, to dst.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = AppendString(dst, method)
	dst = append(dst, `,"params":`...)
	dst = append(dst, params...)
	return append(dst, '}')
}

func appendOpening(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != "" {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	return dst
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// replacement characters, as an answer is better than none. Texts are most of
// what a server sends, and can be long: runs that stand for themselves are copied
// as they are.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	n := strictjson.PlainLen(dst[start:])
	if n < len(s) {
		dst = appendEscaped(dst[:start+n], []byte(s[n:]))
	}
	return append(dst, '"')
}

func appendEscaped(dst, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case r >= utf8.RuneSelf:
			dst = append(dst, text[:size]...)
		default:
			dst = appendEscape(dst, text[0])
		}
		text = text[size:]
		n := strictjson.PlainLen(text)
		dst = append(dst, text[:n]...)
		text = text[n:]
	}
	return dst
}

// appendEscape appends c, a quote, a backslash or a control character.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
