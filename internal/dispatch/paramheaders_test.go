package dispatch

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestFindParams(t *testing.T) {
	params, err := findParams(jsontext.Value(`{
		"type": "object",
		"properties": {
			"region": {"type": "string", "x-mcp-header": "Region"},
			"count": {"type": ["integer", "null"], "x-mcp-header": "a!#$%&'*+-.^_|~0"},
			"dry": {"properties": {"run": {"type": "boolean", "x-mcp-header": "Dry-Run"}}},
			"x-mcp-header": {"type": "string"},
			"plain": {"type": "string", "default": {"x-mcp-header": 1}, "enum": [{"x-mcp-header": ""}], "const": {"x-mcp-header": ""}}
		},
		"$defs": {"x-mcp-header": {"type": "string"}},
		"dependentRequired": {"region": ["count"]}
	}`))
	require.NoError(t, err)
	assert.Equal(t, []param{
		{path: []string{"count"}, header: "Mcp-Param-a!#$%&'*+-.^_|~0", key: "a!#$%&'*+-.^_|~0"},
		{path: []string{"dry", "run"}, header: "Mcp-Param-Dry-Run", key: "dry-run"},
		{path: []string{"region"}, header: "Mcp-Param-Region", key: "region"},
	}, params)
}

// Clients leave out tools that break one of these rules, so they are not
// registered.
//
// Spec: MCP 2026-07-28, Streamable HTTP, Schema Extension.
func TestFindParamsRefuses(t *testing.T) {
	const (
		mark    = `{"type":"string","x-mcp-header":"A"}`
		notRoot = "it must be on a property that is reached from the root through properties alone"
		noType  = "the type must be string, integer or boolean"
	)
	property := func(schema string) string { return `"properties":{"a":` + schema + `}` }
	many := make([]string, mcp.MaxParamHeaders+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"string","x-mcp-header":"h%d"}`, i, i)
	}
	for name, test := range map[string]struct{ members, at, want string }{
		"empty":             {property(`{"type":"string","x-mcp-header":""}`), "$.a", `"" is not a name of a header field`},
		"a space":           {property(`{"type":"string","x-mcp-header":"a b"}`), "$.a", `"a b" is not a name of a header field`},
		"a line end":        {property(`{"type":"string","x-mcp-header":"a\r\nb"}`), "$.a", `"a\r\nb" is not a name of a header field`},
		"a colon":           {property(`{"type":"string","x-mcp-header":"a:"}`), "$.a", `"a:" is not a name of a header field`},
		"not ASCII":         {property(`{"type":"string","x-mcp-header":"ä"}`), "$.a", `"ä" is not a name of a header field`},
		"long":              {property(`{"type":"string","x-mcp-header":"` + strings.Repeat("a", 129) + `"}`), "$.a", `is not a name of a header field`},
		"no string":         {property(`{"type":"string","x-mcp-header":7}`), "$.a", `7 is not a name of a header field`},
		"number":            {property(`{"type":"number","x-mcp-header":"A"}`), "$.a", noType},
		"number or string":  {property(`{"type":["number","string"],"x-mcp-header":"A"}`), "$.a", noType},
		"object":            {property(`{"type":"object","x-mcp-header":"A"}`), "$.a", noType},
		"array":             {property(`{"type":"array","x-mcp-header":"A"}`), "$.a", noType},
		"null":              {property(`{"type":"null","x-mcp-header":"A"}`), "$.a", noType},
		"no types":          {property(`{"type":["null"],"x-mcp-header":"A"}`), "$.a", noType},
		"no type":           {property(`{"enum":["x"],"x-mcp-header":"A"}`), "$.a", noType},
		"twice":             {`"properties":{"a":` + mark + `,"b":{"properties":{"c":{"type":"string","x-mcp-header":"a"}}}}`, "$.b.c", `the name "a" is taken by $.a; case does not count`},
		"the root":          {`"x-mcp-header":"A"`, "$", notRoot},
		"items":             {property(`{"type":"array","items":` + mark + `}`), "$.a.items", notRoot},
		"below items":       {property(`{"type":"array","items":{"properties":{"b":` + mark + `}}}`), "$.a.items.b", notRoot},
		"prefixItems":       {property(`{"prefixItems":[` + mark + `]}`), "$.a.prefixItems.0", notRoot},
		"contains":          {property(`{"contains":` + mark + `}`), "$.a.contains", notRoot},
		"allOf":             {`"allOf":[{` + property(mark) + `}]`, "$.allOf.0.a", notRoot},
		"anyOf":             {`"anyOf":[{` + property(mark) + `}]`, "$.anyOf.0.a", notRoot},
		"oneOf":             {property(`{"oneOf":[` + mark + `]}`), "$.a.oneOf.0", notRoot},
		"not":               {`"not":{` + property(mark) + `}`, "$.not.a", notRoot},
		"if":                {`"if":{` + property(mark) + `}`, "$.if.a", notRoot},
		"then":              {`"then":{` + property(mark) + `}`, "$.then.a", notRoot},
		"else":              {`"else":{` + property(mark) + `}`, "$.else.a", notRoot},
		"a definition":      {`"$defs":{"d":` + mark + `},` + property(`{"$ref":"#/$defs/d"}`), "$.$defs.d", notRoot},
		"an old definition": {`"definitions":{"d":` + mark + `}`, "$.definitions.d", notRoot},
		"pattern":           {`"patternProperties":{"^a":` + mark + `}`, "$.patternProperties.^a", notRoot},
		"additional":        {`"additionalProperties":` + mark, "$.additionalProperties", notRoot},
		"unevaluated":       {`"unevaluatedProperties":` + mark, "$.unevaluatedProperties", notRoot},
		"names":             {`"propertyNames":` + mark, "$.propertyNames", notRoot},
		"dependent":         {`"dependentSchemas":{"a":{` + property(mark) + `}}`, "$.dependentSchemas.a.a", notRoot},
		"unknown keyword":   {`"x-other":[` + mark + `]`, "$.x-other.0", notRoot},
		"too many":          {`"properties":{` + strings.Join(many, ",") + `}`, "$", "it is on 65 properties, at most 64 are supported"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newTool(mcp.ServerTool{
				Tool: mcp.Tool{Name: "t", InputSchema: jsontext.Value(`{"type":"object",` + test.members + `}`)},
				Run:  func(context.Context, *mcp.ToolCall) (any, error) { return "", nil },
			})
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), `tool "t": x-mcp-header at `+test.at+`: `), err.Error())
			assert.True(t, strings.HasSuffix(err.Error(), test.want), err.Error())
		})
	}
}

// mirrored answers a call of a tool with marked arguments, as if it had come
// with headers over HTTP.
func mirrored(t *testing.T, arguments string, headers mcp.ParamHeaders, change func(*mcp.Request)) *mcp.Response {
	t.Helper()
	d, err := New(Config{Toolsets: []mcp.Toolset{{Tools: []mcp.ServerTool{{
		Tool: mcp.Tool{Name: "t", InputSchema: jsontext.Value(`{"type":"object","properties":{
			"s":{"type":["string","null"],"x-mcp-header":"Region"},"i":{"type":"integer","x-mcp-header":"Count"},
			"b":{"type":"boolean","x-mcp-header":"Dry"},"o":{"type":"object","properties":{"s":{"type":"string","x-mcp-header":"Deep"}}}}}`)},
		Run: func(context.Context, *mcp.ToolCall) (any, error) { return "it ran", nil },
	}}}}}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	req, refusal := mcp.ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":` + arguments +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	require.Nil(t, refusal)
	req.Mirrored, req.ParamHeaders = true, headers
	if change != nil {
		change(req)
	}
	return d.Handle(t.Context(), req, nil)
}

// Spec: MCP 2026-07-28, Streamable HTTP, Server Behavior for Custom Headers and
// Server Validation.
func TestParamHeaders(t *testing.T) {
	h := func(name string, values ...string) mcp.ParamHeaders { return mcp.ParamHeaders{name: values} }
	for name, test := range map[string]struct {
		arguments string
		headers   mcp.ParamHeaders
		want      string // empty if the tool runs
	}{
		"nothing":                 {`{}`, nil, ""},
		"equal":                   {`{"s":"us-west1"}`, h("region", "us-west1"), ""},
		"all of them":             {`{"s":"x","i":7,"b":true,"o":{"s":"y"}}`, mcp.ParamHeaders{"region": {"x"}, "count": {"7"}, "dry": {"true"}, "deep": {"y"}}, ""},
		"no arguments":            {`null`, nil, ""},
		"nested, absent":          {`{"o":{}}`, nil, ""},
		"unknown header":          {`{}`, h("other", "x", "y\xff"), ""},
		"null":                    {`{"s":null}`, nil, ""},
		"null with a header":      {`{"s":null}`, h("region", "null"), "Mcp-Param-Region is there, but not the argument that it repeats"},
		"absent with a header":    {`{}`, h("region", ""), "Mcp-Param-Region is there, but not the argument that it repeats"},
		"header missing":          {`{"s":"x"}`, nil, "Mcp-Param-Region is missing"},
		"header twice":            {`{"s":"x"}`, h("region", "x", "x"), "Mcp-Param-Region occurs more than once"},
		"different":               {`{"s":"x"}`, h("region", "X"), "Mcp-Param-Region differs from the argument that it repeats"},
		"empty":                   {`{"s":""}`, h("region", ""), ""},
		"invalid characters":      {`{"s":"ö"}`, h("region", "ö"), "Mcp-Param-Region has characters outside of visible ASCII"},
		"Base64":                  {`{"s":"Hello"}`, h("region", "=?base64?SGVsbG8=?="), ""},
		"Base64 of spaces":        {`{"s":" padded "}`, h("region", "=?base64?IHBhZGRlZCA=?="), ""},
		"spaces":                  {`{"s":" padded "}`, h("region", " padded "), "Mcp-Param-Region differs from the argument that it repeats"},
		"Base64 without padding":  {`{"s":"Hello"}`, h("region", "=?base64?SGVsbG8?="), "Mcp-Param-Region is not valid Base64"},
		"Base64 with junk":        {`{"s":"Hello"}`, h("region", "=?base64?SGVs!!!bG8=?="), "Mcp-Param-Region is not valid Base64"},
		"no markers":              {`{"s":"SGVsbG8="}`, h("region", "SGVsbG8="), ""},
		"one marker":              {`{"s":"=?base64?SGVsbG8="}`, h("region", "=?base64?SGVsbG8="), ""},
		"integer":                 {`{"i":42}`, h("count", "42"), ""},
		"integer, other form":     {`{"i":42}`, h("count", "42.0"), ""},
		"integer, exponent":       {`{"i":4.2e1}`, h("count", "42"), ""},
		"integer in Base64":       {`{"i":-7}`, h("count", "=?base64?LTc=?="), ""},
		"other integer":           {`{"i":42}`, h("count", "43"), "Mcp-Param-Count differs from the argument that it repeats"},
		"no decimal":              {`{"i":42}`, h("count", "0x2a"), "Mcp-Param-Count differs from the argument that it repeats"},
		"a quotient":              {`{"i":42}`, h("count", "84/2"), "Mcp-Param-Count differs from the argument that it repeats"},
		"empty integer":           {`{"i":0}`, h("count", ""), "Mcp-Param-Count differs from the argument that it repeats"},
		"huge exponent":           {`{"i":0}`, h("count", "0e999999999"), "Mcp-Param-Count differs from the argument that it repeats"},
		"largest integer":         {`{"i":9007199254740991}`, h("count", "9007199254740991"), ""},
		"smallest integer":        {`{"i":-9007199254740991}`, h("count", "-9007199254740991"), ""},
		"beyond the largest":      {`{"i":9007199254740992}`, h("count", "9007199254740992"), "Mcp-Param-Count is an integer beyond 2^53-1, which not every reader of the header can hold"},
		"beyond the smallest":     {`{"i":-9007199254740993}`, h("count", "-9007199254740993"), "Mcp-Param-Count is an integer beyond 2^53-1, which not every reader of the header can hold"},
		"nearly equal":            {`{"i":9007199254740991}`, h("count", "9007199254740990.9999999999"), "Mcp-Param-Count differs from the argument that it repeats"},
		"true":                    {`{"b":true}`, h("dry", "true"), ""},
		"true in capitals":        {`{"b":true}`, h("dry", "TRUE"), "Mcp-Param-Dry differs from the argument that it repeats"},
		"false":                   {`{"b":false}`, h("dry", "true"), "Mcp-Param-Dry differs from the argument that it repeats"},
		"nested":                  {`{"o":{"s":"x"}}`, h("deep", "y"), "Mcp-Param-Deep differs from the argument that it repeats"},
		"nothing there to nest":   {`{"o":"x"}`, h("deep", "x"), "Mcp-Param-Deep is there, but not the argument that it repeats"},
		"no value for a header":   {`{"s":["x"]}`, h("region", `["x"]`), "Mcp-Param-Region differs from the argument that it repeats"},
		"number out of range":     {`{"i":1e999999999}`, h("count", "1e999999999"), "Mcp-Param-Count is a number out of range"},
		"beside such a number":    {`{"s":"x","z":[1e999]}`, h("region", "y"), "Mcp-Param-Region differs from the argument that it repeats"},
		"before other complaints": {`{"s":"x","i":"many"}`, mcp.ParamHeaders{"region": {"y"}, "count": {"many"}}, "Mcp-Param-Region differs from the argument that it repeats"},
	} {
		t.Run(name, func(t *testing.T) {
			res := mirrored(t, test.arguments, test.headers, nil)
			if test.want == "" {
				assert.Contains(t, string(res.Body), "it ran")
				return
			}
			assert.Equal(t, mcp.CodeHeaderMismatch, res.Code)
			assert.Contains(t, string(res.Body), `"message":"Header mismatch: `+test.want+`"`)
		})
	}
}

// Values of the wrong type that agree are left to the schema, and so is null,
// which no header repeats.
func TestParamHeadersAreNoValidation(t *testing.T) {
	for arguments, test := range map[string]struct {
		headers mcp.ParamHeaders
		want    string
	}{
		`{"i":"42"}`:            {mcp.ParamHeaders{"count": {"42"}}, `\n- $.i: expected integer`},
		`{"i":null}`:            {nil, `\n- $.i: expected integer`},
		`{"o":null}`:            {nil, `\n- $.o: expected object`},
		`{"o":{"s":null}}`:      {nil, `\n- $.o.s: expected string`},
		`{"s":"x","z":[1e999]}`: {mcp.ParamHeaders{"region": {"x"}}, ` the number at \"/z/0\" is out of range`},
	} {
		res := mirrored(t, arguments, test.headers, nil)
		assert.Contains(t, string(res.Body), `Invalid arguments:`+test.want)
		assert.Zero(t, res.Code)
	}
}

// Transports without headers, and callers of the contract, are not checked.
func TestParamHeadersOnlyWhereTheyAreMirrored(t *testing.T) {
	for _, change := range []func(*mcp.Request){
		func(req *mcp.Request) { req.Mirrored = false },
		func(req *mcp.Request) { req.Mirrored, req.Profile = false, mcp.Contract },
	} {
		assert.Contains(t, string(mirrored(t, `{"s":"x"}`, nil, change).Body), "it ran")
	}
}

// Whatever the header, it agrees exactly with what it is an encoding of.
func FuzzCompareParam(f *testing.F) {
	for _, seed := range [][2]string{{`"x"`, "x"}, {`42`, "42.0"}, {`-0`, "0"}, {`1e3`, "1000"}, {`true`, "true"}, {`" "`, "=?base64?IA==?="}, {`9007199254740993`, "1e400"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, argument, header string) {
		value, err := decodeValue(jsontext.Value(argument))
		if err != nil || value == nil {
			return
		}
		params := []param{{path: []string{"a"}, header: "Mcp-Param-A", key: "a"}}
		arguments := map[string]any{"a": value}
		mismatch := checkParams(params, mcp.ParamHeaders{"a": {header}}, arguments)
		if text, ok := value.(string); ok {
			encoded := "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
			assert.Nil(t, checkParams(params, mcp.ParamHeaders{"a": {encoded}}, arguments))
		}
		if mismatch != nil {
			assert.Equal(t, mcp.CodeHeaderMismatch, mismatch.Code)
			return
		}
		decoded, refusal := mcp.HeaderValue("Mcp-Param-A", []string{header})
		require.Nil(t, refusal)
		switch v := value.(type) {
		case string:
			assert.Equal(t, v, decoded)
		case bool:
			assert.Equal(t, fmt.Sprint(v), decoded)
		default:
			want, ok := new(big.Rat).SetString(fmt.Sprint(v))
			require.True(t, ok)
			got, ok := new(big.Rat).SetString(decoded)
			require.True(t, ok, decoded)
			assert.Zero(t, want.Cmp(got))
		}
	})
}
