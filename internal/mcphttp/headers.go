package mcphttp

import (
	"fmt"
	"net/http"

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
	version, err := mcp.HeaderText(headerVersion, header[headerVersion])
	if err == nil && version != req.Meta.ProtocolVersion {
		return mcp.HeaderMismatch(headerVersion, "differs from the protocol version in params._meta")
	}
	return err
}

// checkMethod compares the method header with the method.
func checkMethod(header http.Header, req *mcp.Request) *jsonrpc.Error {
	method, err := mcp.HeaderText(headerMethod, header[headerMethod])
	if err == nil && method != req.Method {
		return mcp.HeaderMismatch(headerMethod, "differs from the method of the request")
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
	name, err := mcp.HeaderValue(headerName, header[headerName])
	if err == nil && name != target {
		return mcp.HeaderMismatch(headerName, "differs from the name, uri or taskId in params")
	}
	return err
}

// maxParamsBytes bounds the names and values of the Mcp-Param-* headers of one
// request, which travel with it.
const maxParamsBytes = 8 << 10

// takeParams puts the headers that mirror arguments into a tools/call, for the
// one who knows the tool's schema to compare them.
//
// Spec: Streamable HTTP, Server Behavior for Custom Headers.
func takeParams(header http.Header, req *mcp.Request) *refusal {
	req.Mirrored = true
	if req.Method != mcp.MethodToolsCall {
		return nil
	}
	req.ParamHeaders = mcp.ParamHeadersIn(header)
	count, bytes := 0, 0
	for name, values := range req.ParamHeaders {
		for _, value := range values {
			count++
			bytes += len(name) + len(value)
		}
	}
	if count > mcp.MaxParamHeaders || bytes > maxParamsBytes {
		return refuse(http.StatusRequestHeaderFieldsTooLarge,
			fmt.Sprintf("more than %d headers %s* or %d bytes in them", mcp.MaxParamHeaders, mcp.HeaderParam, maxParamsBytes))
	}
	return nil
}
