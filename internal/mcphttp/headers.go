package mcphttp

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Headers that repeat members of the body, in the spelling of http.Header's
// keys.
//
// Spec: MCP 2026-07-28, Streamable HTTP, Request Metadata.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// checkVersion compares the version header with the version in _meta.
func checkVersion(header http.Header, req *mcp.Request) *jsonrpc.Error {
	version, err := fieldValue(header, headerVersion)
	if err == nil && version != req.Meta.ProtocolVersion {
		return mismatch(headerVersion, "differs from the protocol version in params._meta")
	}
	return err
}

// checkMethod compares the method header with the method.
func checkMethod(header http.Header, req *mcp.Request) *jsonrpc.Error {
	method, err := fieldValue(header, headerMethod)
	if err == nil && method != req.Method {
		return mismatch(headerMethod, "differs from the method of the request")
	}
	return err
}

// checkName compares the name header with what the request is about. When the
// body does not say what, no header could be right and none can mislead: that
// request is left to the handler, which refuses it for the missing member.
func checkName(header http.Header, req *mcp.Request) *jsonrpc.Error {
	target, ok := req.Target()
	if !ok {
		return nil
	}
	field, err := fieldValue(header, headerName)
	if err != nil {
		return err
	}
	name, ok := decodeValue(field)
	switch {
	case !ok:
		return mismatch(headerName, "is not valid Base64")
	case name != target:
		return mismatch(headerName, "differs from the name or uri in params")
	}
	return nil
}

// fieldValue returns the one value of a header, which must be visible ASCII,
// spaces and tabs.
func fieldValue(header http.Header, name string) (string, *jsonrpc.Error) {
	values := header[name]
	switch len(values) {
	case 0:
		return "", mismatch(name, "is missing")
	case 1:
	default:
		return "", mismatch(name, "occurs more than once")
	}
	value := strings.Trim(values[0], " \t")
	for _, c := range []byte(value) {
		if (c < ' ' || c > '~') && c != '\t' {
			return "", mismatch(name, "has characters outside of visible ASCII")
		}
	}
	return value, nil
}

// decodeValue decodes a value between the markers of Base64; a value that lacks
// one of them stands for itself. ok is false when what is between them is not
// Base64.
//
// Spec: Streamable HTTP, Value Encoding.
func decodeValue(field string) (value string, ok bool) {
	rest, opened := strings.CutPrefix(field, "=?base64?")
	encoded, closed := strings.CutSuffix(rest, "?=")
	if !opened || !closed {
		return field, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(decoded), err == nil
}

// mismatch is the error for a header that does not match the body.
//
// Spec: Streamable HTTP, Server Validation.
func mismatch(header, fault string) *jsonrpc.Error {
	return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "Header mismatch: %s %s", header, fault)
}
