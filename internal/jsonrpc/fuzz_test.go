package jsonrpc_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// What is accepted means the same to another strict reader, and survives being
// written and read again: the id byte for byte.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"\ud83d\ude00"}`,
		`{"jsonrpc":"2.0","id":-0,"method":"m","_meta":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, `[]`, `{"jsonrpc":"2.0","id":1,"method":"m"}x`,
		`{"method":"m","params":[],"id":"after"}`, `{"jsonrpc":"2.0","ID":1,"method":"m"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		request, rpcErr := jsonrpc.Parse(text, jsonrpc.Visitor{})
		if rpcErr != nil {
			requireLine(t, jsonrpc.AppendError(nil, request.ID, rpcErr))
			return
		}
		var other struct {
			Version string         `json:"jsonrpc"`
			ID      jsontext.Value `json:"id"`
			Method  string         `json:"method"`
		}
		if err := json.Unmarshal(text, &other); err != nil {
			t.Fatalf("accepted, but %v: %q", err, text)
		}
		if other.Version != jsonrpc.Version || string(other.ID) != string(request.ID) || other.Method != request.Method {
			t.Fatalf("read as %+v and %+v: %q", request, other, text)
		}
		if again := reparse(t, request); again != request {
			t.Fatalf("%+v became %+v", request, again)
		}
	})
}

// reparse writes request as a client would and reads it again.
func reparse(t *testing.T, request jsonrpc.Request) jsonrpc.Request {
	members := map[string]any{"jsonrpc": jsonrpc.Version, "method": request.Method}
	text, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if request.ID != "" {
		text = append(text[:len(text)-1], `,"id":`+string(request.ID)+`}`...)
	}
	again, rpcErr := jsonrpc.Parse(text, jsonrpc.Visitor{})
	if rpcErr != nil {
		t.Fatalf("%v: %q", rpcErr, text)
	}
	return again
}
