package mcp_test

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// BenchmarkParse compares ParseRequest with its floor, which only checks the
// text, and with decoders that fill structs. Those look at no more than the
// envelope, do not refuse case variants, and encoding/json not even duplicates.
func BenchmarkParse(b *testing.B) {
	for _, text := range benchTexts() {
		b.Run(text.name, func(b *testing.B) {
			benchDecoder(b, "strictjson", text.raw, func(raw []byte) error {
				return strictjson.Parse(raw, func(r *strictjson.Reader) error {
					_, err := r.Value()
					return err
				})
			})
			benchDecoder(b, "ParseRequest", text.raw, func(raw []byte) error {
				if _, err := mcp.ParseRequest(raw); err != nil {
					return err // not the nil *jsonrpc.Error, which is no nil error
				}
				return nil
			})
			benchDecoder(b, "encoding-json", text.raw, func(raw []byte) error {
				var into envelope[stdjson.RawMessage]
				return stdjson.Unmarshal(raw, &into)
			})
			benchDecoder(b, "go-json-experiment", text.raw, func(raw []byte) error {
				var into envelope[jsontext.Value]
				return json.Unmarshal(raw, &into)
			})
		})
	}
}

func benchDecoder(b *testing.B, name string, raw []byte, decode func([]byte) error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if err := decode(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// envelope is what a decoder of structs fills from a tools/call.
type envelope[Raw any] struct {
	Version string `json:"jsonrpc"`
	ID      Raw    `json:"id"`
	Method  string `json:"method"`
	Params  struct {
		Name      string `json:"name"`
		Arguments Raw    `json:"arguments"`
		Meta      struct {
			Version       string `json:"io.modelcontextprotocol/protocolVersion"`
			Info          Raw    `json:"io.modelcontextprotocol/clientInfo"`
			Capabilities  Raw    `json:"io.modelcontextprotocol/clientCapabilities"`
			ProgressToken Raw    `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

type benchText struct {
	name string
	raw  []byte
}

func benchTexts() []benchText {
	return []benchText{
		{"600B", toolsCall(`{"city":"Amsterdam","unit":"celsius","days":3,"detail":"wind and rain"}`)},
		{"64KiB-text", toolsCall(`{"text":"` + strings.Repeat("All work and no play. ", 64<<10/22) + `"}`)},
		{"64KiB-members", toolsCall(manyMembers(64 << 10))},
		{"64KiB-records", toolsCall(`{"records":[` + strings.TrimSuffix(strings.Repeat(manyMembers(512)+",", 128), ",") + `]}`)},
	}
}

// manyMembers returns an object of about size bytes.
func manyMembers(size int) string {
	var members []string
	for n := range size / len(`"member-00000":12345,`) {
		members = append(members, fmt.Sprintf(`"member-%05d":12345`, n))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// toolsCall returns a tools/call as clients send it, with all of its _meta.
func toolsCall(arguments string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"get_weather","arguments":` + arguments +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"example-client","title":"Example Client","version":"1.20.3"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}},` +
		`"progressToken":"3f1d6c0e-5a1b-4b6e","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}`)
}
