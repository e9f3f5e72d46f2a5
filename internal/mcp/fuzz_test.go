package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// What is accepted is understood the same after another program has written it
// anew, and nothing that follows parsing panics.
func FuzzParseRequest(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"},"_meta":{` + goodMembers + `}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","method":"resources/read","params":{"uri":"file:///\u00e9","requestState":"s","inputResponses":{"q":"x"}}}`,
		`{"jsonrpc":"2.0","id":-0,"method":"prompts/get","params":{"name":"\ud83d\ude00","inputResponses":{"q":{"action":"accept","content":{"q":"y"}}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","_meta":{"protocolVersion":"1"},"params":{"cursor":"c","_meta":{"protocolVersion":null}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":1.5,"io.modelcontextprotocol/clientInfo":7}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}},"sampling":{"tools":[]}}}}}`,
		string(toolsCall(`{"a":1}`)),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		req, rpcErr := mcp.ParseRequest(text)
		if rpcErr != nil {
			return
		}
		use(req)
		for _, again := range []*mcp.Request{rewritten(t, req, canonical), rewritten(t, req, indented)} {
			requireSame(t, req, again)
		}
	})
}

// use calls what reads the raw parts of a request.
func use(req *mcp.Request) {
	call, err := mcp.NewCall(req, mcp.CallConfig{Notify: func([]byte) {}})
	if err != nil {
		return
	}
	call.Progress(1, 2, "m")
	for id := range call.InputResponses {
		call.InputResponses.Text(id)
	}
}

// rewritten parses the request in another form.
func rewritten(t *testing.T, req *mcp.Request, form func([]byte) ([]byte, error)) *mcp.Request {
	text, err := form(req.Raw)
	if err != nil {
		t.Fatalf("%v: %q", err, req.Raw)
	}
	again, rpcErr := mcp.ParseRequest(text)
	if rpcErr != nil {
		t.Fatalf("%v: %q became %q", rpcErr, req.Raw, text)
	}
	again.Profile = req.Profile
	return again
}

func indented(text []byte) ([]byte, error) {
	value := jsontext.Value(text).Clone()
	err := value.Indent()
	return value, err
}

// canonical sorts members and writes strings in their shortest form.
func canonical(text []byte) ([]byte, error) {
	value := jsontext.Value(text).Clone()
	err := value.Format(jsontext.ReorderRawObjects(true))
	return value, err
}

func requireSame(t *testing.T, want, got *mcp.Request) {
	t.Helper()
	wantTarget, wantOK := want.Target()
	gotTarget, gotOK := got.Target()
	same := want.Method == got.Method && plainID(t, want) == plainID(t, got) && wantTarget == gotTarget && wantOK == gotOK &&
		want.Meta.ProtocolVersion == got.Meta.ProtocolVersion && want.Meta.Capabilities == got.Meta.Capabilities
	for _, profile := range []mcp.Profile{mcp.Strict, mcp.Contract} {
		want.Profile, got.Profile = profile, profile
		same = same && (want.ValidateMeta() == nil) == (got.ValidateMeta() == nil) && (want.ValidateVersion() == nil) == (got.ValidateVersion() == nil)
	}
	if !same {
		t.Fatalf("%q became %q", want.Raw, got.Raw)
	}
}

// plainID returns the id without the freedom that JSON strings have.
func plainID(t *testing.T, req *mcp.Request) string {
	if req.IsNotification() || req.ID[0] != '"' {
		return string(req.ID)
	}
	var s string
	if err := json.Unmarshal([]byte(req.ID), &s); err != nil {
		t.Fatal(err)
	}
	return "string " + s
}
