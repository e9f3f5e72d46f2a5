package jsonrpc

import (
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	dst = appendString(dst, method)
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

// appendString appends s as a JSON string; bytes that are not UTF-8 become
// replacement characters, which is all that AppendQuote's error tells.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
