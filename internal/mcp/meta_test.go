package mcp_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	versionMember      = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	capabilitiesMember = `"io.modelcontextprotocol/clientCapabilities":{}`
	goodMembers        = versionMember + `,` + capabilitiesMember
)

func TestValidateMetaAccepts(t *testing.T) {
	for _, more := range []string{
		``, `,"io.modelcontextprotocol/clientInfo":{"name":"","version":""}`,
		`,"io.modelcontextprotocol/clientInfo":{"version":"1","name":"n","title":7,"icons":[]}`,
		`,"progressToken":"p"`, `,"progressToken":0`, `,"traceparent":null`, `,"com.example/x":null`, `,"protocolVersion":"other"`,
	} {
		assert.Nil(t, parseMeta(t, `{`+goodMembers+more+`}`).ValidateMeta(), more)
	}
}

func TestValidateMetaRefuses(t *testing.T) {
	const (
		version      = "io.modelcontextprotocol/protocolVersion"
		capabilities = "io.modelcontextprotocol/clientCapabilities"
		info         = "io.modelcontextprotocol/clientInfo"
	)
	tests := []struct{ meta, names string }{
		{`null`, "_meta"}, {`[]`, "_meta"}, {`"m"`, "_meta"}, {`7`, "_meta"},
		{`{}`, version}, {`{` + capabilitiesMember + `}`, version}, {`{` + versionMember + `}`, capabilities},
		{`{"protocolVersion":"2026-07-28",` + capabilitiesMember + `}`, version},
		{`{"` + version + `":null,` + capabilitiesMember + `}`, version},
		{`{"` + version + `":20260728,` + capabilitiesMember + `}`, version},
		{`{"` + version + `":["2026-07-28"],` + capabilitiesMember + `}`, version},
		{`{` + versionMember + `,"` + capabilities + `":null}`, capabilities},
		{`{` + versionMember + `,"` + capabilities + `":[]}`, capabilities},
		{`{` + versionMember + `,"` + capabilities + `":"roots"}`, capabilities},
	}
	for _, shape := range []string{
		`null`, `[]`, `"client"`, `{}`, `{"name":"n"}`, `{"version":"1"}`, `{"name":7,"version":"1"}`, `{"name":"n","version":1}`,
		`{"name":null,"version":"1"}`, `{"name":"n","version":{"name":"n"}}`,
	} {
		tests = append(tests, struct{ meta, names string }{`{` + goodMembers + `,"` + info + `":` + shape + `}`, info})
	}
	for _, token := range []string{`null`, `1.5`, `1e3`, `true`, `{}`, `["p"]`} {
		tests = append(tests, struct{ meta, names string }{`{` + goodMembers + `,"progressToken":` + token + `}`, "progressToken"})
	}
	for _, test := range tests {
		err := parseMeta(t, test.meta).ValidateMeta()
		require.NotNil(t, err, test.meta)
		assert.Equal(t, jsonrpc.CodeInvalidParams, err.Code, test.meta)
		assert.Contains(t, err.Message, test.names, test.meta)
	}
}

func TestValidateMetaWithoutParams(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","_meta":{` + goodMembers + `}}`,
	} {
		err := parse(t, text).ValidateMeta()
		require.NotNil(t, err, text)
		assert.Equal(t, jsonrpc.CodeInvalidParams, err.Code)
		assert.Contains(t, err.Message, "_meta is missing")
	}
}

func TestProgressToken(t *testing.T) {
	for _, token := range []string{`"p"`, `""`, `0`, `-3`, `9007199254740993`, `"a\u0062"`} {
		assert.Equal(t, jsontext.Value(token), parseMeta(t, `{"progressToken":`+token+`}`).Meta.ProgressToken)
	}
	for _, token := range []string{`null`, `1.5`, `{}`} {
		assert.Nil(t, parseMeta(t, `{"progressToken":`+token+`}`).Meta.ProgressToken)
	}
}

func TestCapabilities(t *testing.T) {
	type caps = mcp.ClientCapabilities
	for declared, want := range map[string]caps{
		`{}`:                                      {},
		`{"elicitation":{}}`:                      {ElicitationForm: true},
		`{"elicitation":{"form":{}}}`:             {ElicitationForm: true},
		`{"elicitation":{"url":{}}}`:              {ElicitationURL: true},
		`{"elicitation":{"url":{},"form":{}}}`:    {ElicitationForm: true, ElicitationURL: true},
		`{"elicitation":{"form":{},"url":{}}}`:    {ElicitationForm: true, ElicitationURL: true},
		`{"elicitation":{"voice":1}}`:             {ElicitationForm: true},
		`{"sampling":{}}`:                         {Sampling: true},
		`{"sampling":{"tools":{},"context":{}}}`:  {Sampling: true, SamplingTools: true},
		`{"sampling":{"context":{"tools":true}}}`: {Sampling: true},
		`{"roots":{"listChanged":true}}`:          {Roots: true},
		`{"extensions":{"com.example/x":{}},"experimental":{"y":{}},"unknown":7}`: {},
		`{"extensions":{"io.modelcontextprotocol/tasks":{"later":1}}}`:            {Tasks: true},
		`{"elicitation":{},"sampling":{},"roots":{}}`:                             {ElicitationForm: true, Sampling: true, Roots: true},
	} {
		req := parseMeta(t, `{`+versionMember+`,"io.modelcontextprotocol/clientCapabilities":`+declared+`}`)
		require.Nil(t, req.ValidateMeta(), declared)
		assert.Equal(t, want, req.Meta.Capabilities, declared)
	}
}

// What has the wrong shape is refused, and declares nothing even where nobody
// validates it.
func TestCapabilitiesOfTheWrongShape(t *testing.T) {
	for _, declared := range []string{
		`{"elicitation":null}`, `{"elicitation":true}`, `{"elicitation":[]}`, `{"sampling":null}`, `{"sampling":"yes"}`, `{"roots":true}`,
		`{"roots":[]}`, `{"extensions":[]}`, `{"experimental":1}`, `{"elicitation":{"form":false}}`, `{"elicitation":{"url":null}}`,
		`{"sampling":{"tools":false}}`, `{"sampling":{"tools":[]}}`,
		`{"extensions":{"io.modelcontextprotocol/tasks":null}}`, `{"extensions":{"io.modelcontextprotocol/tasks":true}}`,
	} {
		req := parseMeta(t, `{`+versionMember+`,"io.modelcontextprotocol/clientCapabilities":`+declared+`}`)
		err := req.ValidateMeta()
		require.NotNil(t, err, declared)
		assert.Equal(t, jsonrpc.CodeInvalidParams, err.Code)
		assert.Contains(t, err.Message, "clientCapabilities")
		assert.Equal(t, mcp.ClientCapabilities{}, req.Meta.Capabilities, declared)
	}
}

func TestValidateVersionStrict(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "1900-01-01", "", "2026-07-28 ", "2026-7-28"} {
		req := parseMeta(t, `{"io.modelcontextprotocol/protocolVersion":"`+version+`",`+capabilitiesMember+`}`)
		require.Nil(t, req.ValidateMeta())
		err := req.ValidateVersion()
		require.NotNil(t, err, version)
		assert.Equal(t, mcp.CodeUnsupportedVersion, err.Code)
		assertJSON(t, `{"requested":"`+version+`","supported":["2026-07-28"]}`, err.Data)
	}
	assert.Nil(t, parseMeta(t, `{"io.modelcontextprotocol/protocolVersion":"2026\u002d07-28","protocolVersion":"1"}`).ValidateVersion())
}

func TestValidateVersionContract(t *testing.T) {
	const reserved = "io.modelcontextprotocol/protocolVersion"
	request := func(envelope, params string) *mcp.Request {
		req := parse(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"`+envelope+`,"params":{`+params+`}}`)
		req.Profile = mcp.Contract
		return req
	}
	meta := func(member string) []*mcp.Request {
		return []*mcp.Request{
			request(`,"_meta":{`+member+`}`, ``), request(``, `"_meta":{`+member+`}`), request(`,"_meta":{`+goodMembers+`}`, `"_meta":{`+member+`}`),
		}
	}
	for _, good := range []string{
		``, `"protocolVersion":"2026-07-28"`, `"` + reserved + `":"2026-07-28"`, `"protocolVersion":"2026\u002d07-28"`,
		`"` + reserved + `":"2026-07-28","protocolVersion":"2026-07-28"`, `"progressToken":1.5`,
	} {
		for _, req := range meta(good) {
			assert.Nil(t, req.ValidateVersion(), "%s", req.Raw)
		}
	}
	for _, bad := range []string{
		`"protocolVersion":"2025-11-25"`, `"protocolVersion":null`, `"protocolVersion":20260728`, `"protocolVersion":""`,
		`"` + reserved + `":"2025-11-25"`, `"` + reserved + `":null`, `"` + reserved + `":{}`,
		`"` + reserved + `":"2026-07-28","protocolVersion":"1"`, `"protocolVersion":"1","` + reserved + `":"2026-07-28"`,
		`"` + reserved + `":"1","protocolVersion":"2026-07-28"`, `"protocolVersion":"2026-07-28","` + reserved + `":"1"`,
	} {
		for _, req := range meta(bad) {
			err := req.ValidateVersion()
			require.NotNil(t, err, "%s", req.Raw)
			assert.Equal(t, jsonrpc.CodeInvalidRequest, err.Code)
		}
	}
	assert.Nil(t, request(`,"_meta":7`, `"_meta":"x"`).ValidateVersion())
}

// assertJSON compares what v encodes to, byte for byte.
func assertJSON(t *testing.T, want string, v any) {
	t.Helper()
	got, err := jsonrpc.Marshal(v)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}
