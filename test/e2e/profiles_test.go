package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/cli"
	"github.com/mcpyard/mcpyard/test/process"
)

// A row is a rule of a profile: what a request is answered.
type row struct {
	name   string
	post   post
	status int
	want   string // the whole response
	atEdge bool   // the ingress answers by itself
}

// Each request is sent until both workers have answered it, so that a rule holds
// whichever worker it meets.
func TestProfiles(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	seen := observe(t, server.ClientURL())
	f := startFleet(t, inProcess, server.ClientURL(), 2)
	var workers []string
	for _, w := range f.workers {
		workers = append(workers, w.says(t, process.SaysWorker))
	}
	for _, rows := range [][]row{strictRows(), contractRows(), envelopeRows("/mcp"), envelopeRows("/rpc")} {
		for _, row := range rows {
			t.Run(row.post.path+" "+row.name, func(t *testing.T) {
				missing := map[string]bool{workers[0]: true, workers[1]: true}
				for tries := 0; len(missing) > 0; tries++ {
					require.Less(t, tries, 100, "workers that never answer: %v", missing)
					a := f.ask(t, row.post)
					assert.Equal(t, row.status, a.status)
					require.JSONEq(t, row.want, a.response())
					if row.atEdge {
						return // had it been sent on, the next row would see it
					}
					worker, body := seen.next(t)
					require.Equal(t, row.post.body, body, "the message as it was received")
					delete(missing, worker)
				}
			})
		}
	}
	assert.Empty(t, seen.requests)
}

// success is the response with a result of these members.
func success(members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"r-1","result":{%s}}`, members)
}

// stamped is a result's members in the strict profile.
func stamped(resultType, members string) string {
	info := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpyard","version":%q}}`, cli.Version)
	return success(join(fmt.Sprintf(`"resultType":%q`, resultType), info, members))
}

func complete(members string) string { return stamped("complete", members) }

// text is the content of one block of text.
func text(text string) string {
	return fmt.Sprintf(`"content":[{"type":"text","text":%q}]`, text)
}

// failure is the response with an error; data may be empty.
func failure(code int, message, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"r-1","error":{"code":%d,"message":%q%s}}`, code, message, data)
}

const (
	removed = "Method not found: initialize was removed by the stateless revision 2026-07-28; " +
		"send each request with its protocol version in _meta. Supported versions: 2026-07-28"
	question = `Delete the resource "a"? Answer yes to delete it.`
)

func strictRows() []row {
	noMeta := strict("tools/list", "", "")
	noMeta.body = request("tools/list", "")
	noCapabilities := strict("tools/list", "", "")
	noCapabilities.body = request("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
	oldVersion := strict("tools/list", "", "")
	oldVersion.header["Mcp-Protocol-Version"] = "2025-11-25"
	oldVersion.body = request("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}`)
	otherMethod := strict("tools/list", "", "")
	otherMethod.header["Mcp-Method"] = "tools/call"
	otherName := tool("echo", `{"text":"x"}`)
	otherName.header["Mcp-Name"] = "divide"
	noHeaders := tool("echo", `{"text":"x"}`)
	noHeaders.header = nil
	unable := tool("delete_resource", `{"name":"a"}`)
	unable.body = request("tools/call", `"name":"delete_resource","arguments":{"name":"a"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`)
	const form = `"inputRequests":{"confirm":{"method":"elicitation/create","params":{"mode":"form","message":%q,` +
		`"requestedSchema":{"type":"object","properties":{"confirm":{"type":"string"}},"required":["confirm"]}}}}`
	const missingMeta = "Invalid params: %s is missing; every request carries its protocol version and client capabilities in params._meta"

	return []row{
		{"no metadata", noMeta, http.StatusBadRequest, failure(-32602, fmt.Sprintf(missingMeta, "_meta"), ""), true},
		{"no capabilities", noCapabilities, http.StatusBadRequest, failure(-32602, fmt.Sprintf(missingMeta, "io.modelcontextprotocol/clientCapabilities"), ""), true},
		{"unsupported version", oldVersion, http.StatusBadRequest, failure(-32022, "Unsupported protocol version", `{"supported":["2026-07-28"],"requested":"2025-11-25"}`), true},
		{"header with another method", otherMethod, http.StatusBadRequest, failure(-32020, "Header mismatch: Mcp-Method differs from the method of the request", ""), true},
		{"header with another name", otherName, http.StatusBadRequest, failure(-32020, "Header mismatch: Mcp-Name differs from the name, uri or taskId in params", ""), true},
		{"no headers", noHeaders, http.StatusBadRequest, failure(-32020, "Header mismatch: Mcp-Protocol-Version is missing", ""), true},
		{"another origin", strict("tools/list", "", "").with("Origin", "https://evil.example"), http.StatusForbidden,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: this Origin is not allowed; the flag -allowed-origins adds origins"}}`, true},
		{"initialize", strict("initialize", "", ""), http.StatusNotFound, failure(-32601, removed, `{"supported":["2026-07-28"]}`), true},
		{"unknown method", strict("tools/burn", "", ""), http.StatusNotFound, failure(-32601, "Method not found: tools/burn", ""), false},
		{"an empty list", strict("resources/list", "", ""), http.StatusOK, complete(`"resources":[],"ttlMs":0,"cacheScope":"private"`), false},
		{"a list with a cursor that is none", strict("tools/list", "", `"cursor":"?"`), http.StatusOK, failure(-32602, "Invalid params: cursor is not one that this server has issued", ""), false},
		{"tool name missing", strict("tools/call", "", `"arguments":{}`), http.StatusOK, failure(-32602, "Invalid params: name must be the name of a tool", ""), false},
		{"tool name not a string", strict("tools/call", "", `"name":7`), http.StatusOK, failure(-32602, "Invalid params: name must be the name of a tool", ""), false},
		{"unknown tool", tool("burn", `{}`), http.StatusOK, failure(-32602, "Unknown tool: burn", ""), false},
		{"required argument missing", tool("divide", `{"a":1}`), http.StatusOK, complete(text("Missing required argument: b") + `,"isError":true`), false},
		{"input required", tool("delete_resource", `{"name":"a"}`), http.StatusOK, stamped("input_required", fmt.Sprintf(form, question)), false},
		{"input from a client that has none", unable, http.StatusBadRequest, failure(-32021, "Missing required client capability: elicitation", `{"requiredCapabilities":{"elicitation":{"form":{}}}}`), false},
		{"success with text", tool("echo", `{"text":"Grüße"}`), http.StatusOK, complete(text("Grüße") + `,"isError":false`), false},
		{"success with a number", tool("calculate_sum", `{"a":0.1,"b":0.2}`), http.StatusOK, complete(text("0.3") + `,"isError":false`), false},
		{"handler error", tool("divide", `{"a":1,"b":0}`), http.StatusOK, complete(text("Error: division by zero") + `,"isError":true`), false},
	}
}

func contractRows() []row {
	call := func(name, arguments string) post {
		return contract("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments))
	}
	const version = "Invalid request: unsupported protocol version in _meta.protocolVersion, supported is \"2026-07-28\""
	beside := post{path: "/rpc", body: `{"jsonrpc":"2.0","id":"r-1","method":"tools/list","_meta":{"protocolVersion":"2024-11-05"}}`}
	right := post{path: "/rpc", body: `{"jsonrpc":"2.0","id":"r-1","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"_meta":{"protocolVersion":"2026-07-28"}}}`}

	return []row{
		{"no metadata", call("echo", `{"text":"x"}`), http.StatusOK, success(text("x")), false},
		{"the version that is served", right, http.StatusOK, success(text("x")), false},
		{"another version in params", contract("tools/list", `"_meta":{"protocolVersion":"2025-11-25"}`), http.StatusBadRequest, failure(-32600, version, ""), false},
		{"another version in the request", beside, http.StatusBadRequest, failure(-32600, version, ""), false},
		{"initialize", contract("initialize", ""), http.StatusNotFound, failure(-32601, removed, `{"supported":["2026-07-28"]}`), false},
		{"a method of the strict profile", contract("resources/list", ""), http.StatusNotFound, failure(-32601, "Method not found: resources/list", ""), false},
		{"tool name missing", contract("tools/call", `"arguments":{}`), http.StatusOK, failure(-32602, "Invalid params: name must be the name of a tool", ""), false},
		{"tool name not a string", contract("tools/call", `"name":["echo"]`), http.StatusOK, failure(-32602, "Invalid params: name must be the name of a tool", ""), false},
		{"unknown tool", call("burn", `{}`), http.StatusOK, success(text("Tool not found") + `,"isError":true`), false},
		{"required argument missing", call("divide", `{"a":1}`), http.StatusOK, success(text("Missing required argument: b") + `,"isError":true`), false},
		{"input required", call("delete_resource", `{"name":"a"}`), http.StatusOK, success(join(`"resultType":"input_required"`,
			fmt.Sprintf(`"requests":[{"id":"confirm","prompt":%q}]`, question),
			text("Additional client input is required before this tool can finish."))), false},
		{"success with text", call("echo", `{"text":"Grüße"}`), http.StatusOK, success(text("Grüße")), false},
		{"success with a number", call("calculate_sum", `{"a":0.1,"b":0.2}`), http.StatusOK, success(text("0.3")), false},
		{"handler error", call("divide", `{"a":1,"b":0}`), http.StatusOK, success(text("Error: division by zero") + `,"isError":true`), false},
	}
}

// envelopeRows are the faults that neither profile lets pass.
func envelopeRows(path string) []row {
	at := func(body string) post { return post{path: path, body: body} }
	const anonymous = `{"jsonrpc":"2.0","error":{"code":%d,"message":%q}}`
	return []row{
		{"not JSON", at(`{"jsonrpc"`), http.StatusBadRequest, fmt.Sprintf(anonymous, -32700, "Parse error: not valid JSON: expected ':' at byte 10"), true},
		{"no object", at(`[]`), http.StatusBadRequest, fmt.Sprintf(anonymous, -32600, "Invalid request: batches are not supported, send one request"), true},
		{"no method", at(`{"jsonrpc":"2.0","id":"r-1"}`), http.StatusBadRequest, failure(-32600, `Invalid request: the member "method" is missing`, ""), true},
		{"no version of JSON-RPC", at(`{"id":"r-1","method":"tools/list"}`), http.StatusBadRequest, failure(-32600, `Invalid request: the member "jsonrpc" is missing`, ""), true},
		{"another version of JSON-RPC", at(`{"jsonrpc":"1.0","id":"r-1","method":"tools/list"}`), http.StatusBadRequest, failure(-32600, `Invalid request: the member "jsonrpc" must be "2.0"`, ""), true},
	}
}

// Lists are too long to write out: both workers must give the same bytes on every
// connection, with everything of the catalogue in them.
func TestListsAreTheSameFromEveryWorker(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	seen := observe(t, server.ClientURL())
	f := startFleet(t, inProcess, server.ClientURL(), 2)
	tools := []string{"calculate_sum", "delete_resource", "divide", "echo", "notes_create", "notes_delete", "notes_list", "notes_search", "slow"}
	tests := []struct {
		post post
		has  []string
	}{
		{strict("server/discover", "", ""), []string{`"supportedVersions":["2026-07-28"]`, `"tools":{"listChanged":true}`, `"resources":{"subscribe":true,"listChanged":true}`, `"prompts":{"listChanged":true}`, `"instructions":"echo, `}},
		{strict("tools/list", "", ""), names(tools)},
		{contract("tools/list", ""), names(tools)},
		{strict("resources/templates/list", "", ""), []string{`"uriTemplate":"notes://{id}"`}},
		{strict("prompts/list", "", ""), []string{`"name":"review_note"`}},
	}
	for _, tt := range tests {
		t.Run(tt.post.path+" "+tt.post.header["Mcp-Method"], func(t *testing.T) {
			all := make(map[string]bool)
			for _, c := range []*caller{newCaller(t, f.url), f.caller} { // f's connection has had other requests
				answered := make(map[string]bool)
				for tries := 0; len(answered) < 2; tries++ {
					require.Less(t, tries, 100)
					a := c.ask(t, tt.post)
					require.Equal(t, http.StatusOK, a.status)
					worker, _ := seen.next(t)
					answered[worker], all[a.response()] = true, true
				}
			}
			require.Len(t, all, 1, "answers differ")
			for response := range all {
				for _, part := range tt.has {
					assert.Contains(t, response, part)
				}
			}
		})
	}
}

// names are the members by which definitions of these names are recognized.
func names(of []string) (members []string) {
	for _, name := range of {
		members = append(members, fmt.Sprintf(`"name":%q`, name))
	}
	return members
}
