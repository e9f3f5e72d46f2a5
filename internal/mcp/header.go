package mcp

import (
	"encoding/base64"
	"strings"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// HeaderParam begins the names of headers that mirror arguments of a tool.
//
// Spec: MCP 2026-07-28, Streamable HTTP, Custom Headers from Tool Parameters.
const HeaderParam = "Mcp-Param-"

// MaxParamHeaders is how many of them one request may have, and so how many
// arguments of a tool can be repeated.
const MaxParamHeaders = 64

// ParamHeaders has the Mcp-Param-* headers of an HTTP request: their values by
// what follows Mcp-Param- in the name, in lower case.
type ParamHeaders map[string][]string

// ParamHeadersIn returns those that are in header, whose names may be in any
// case; nil if there are none.
func ParamHeadersIn(header map[string][]string) ParamHeaders {
	var found ParamHeaders
	for name, values := range header {
		if len(name) < len(HeaderParam) || !strings.EqualFold(name[:len(HeaderParam)], HeaderParam) {
			continue
		}
		if found == nil {
			found = ParamHeaders{}
		}
		name = strings.ToLower(name[len(HeaderParam):])
		found[name] = append(found[name], values...)
	}
	return found
}

// HeaderText returns the one value of a header that mirrors part of the body.
// It must be there, once, and made of visible ASCII, spaces and tabs.
//
// Spec: Streamable HTTP, Value Encoding.
func HeaderText(name string, values []string) (string, *jsonrpc.Error) {
	switch len(values) {
	case 0:
		return "", HeaderMismatch(name, "is missing")
	case 1:
	default:
		return "", HeaderMismatch(name, "occurs more than once")
	}
	value := strings.Trim(values[0], " \t")
	for _, c := range []byte(value) {
		if (c < ' ' || c > '~') && c != '\t' {
			return "", HeaderMismatch(name, "has characters outside of visible ASCII")
		}
	}
	return value, nil
}

// HeaderValue is HeaderText for a header whose value may be in Base64.
func HeaderValue(name string, values []string) (string, *jsonrpc.Error) {
	text, err := HeaderText(name, values)
	if err != nil {
		return "", err
	}
	value, ok := decodeHeader(text)
	if !ok {
		return "", HeaderMismatch(name, "is not valid Base64")
	}
	return value, nil
}

// decodeHeader decodes a value between the markers of Base64; a value that
// lacks one of them stands for itself. ok is false when what is between them is
// not Base64.
func decodeHeader(text string) (value string, ok bool) {
	rest, opened := strings.CutPrefix(text, "=?base64?")
	encoded, closed := strings.CutSuffix(rest, "?=")
	if !opened || !closed {
		return text, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(decoded), err == nil
}

// HeaderMismatch is the error for a header that does not match the body.
//
// Spec: Streamable HTTP, Server Validation.
func HeaderMismatch(header, fault string) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeHeaderMismatch, "Header mismatch: %s %s", header, fault)
}
