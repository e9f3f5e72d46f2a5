package dispatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestCompileInputRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, maxSchemaDepth/2) + `{}` + strings.Repeat(`}}`, maxSchemaDepth/2)
	for name, test := range map[string]struct{ schema, want string }{
		"nothing":             {``, `it has no input schema`},
		"no JSON":             {`{"type"`, `input schema: `},
		"two values":          {`{"type":"object"} {}`, `input schema: not valid JSON: unexpected text after the value`},
		"null":                {`null`, `input schema: it must be an object`},
		"boolean":             {`true`, `input schema: it must be an object`},
		"no type":             {`{}`, `input schema: its type must be "object"`},
		"another type":        {`{"type":"array"}`, `input schema: its type must be "object"`},
		"two types":           {`{"type":["object","null"]}`, `input schema: its type must be "object"`},
		"unknown type":        {`{"type":"object","properties":{"a":{"type":"text"}}}`, `input schema: it is not valid:` + "\n" + `- $.properties.a.type: `},
		"2019-09":             {`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object"}`, `is not a supported dialect`},
		"draft-04":            {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, `is not a supported dialect`},
		"dialect of nobody":   {`{"$schema":"https://example.com/dialect","type":"object"}`, `$schema "https://example.com/dialect" is not a supported dialect: use JSON Schema 2020-12 or draft-07`},
		"dialect is a number": {`{"$schema":7,"type":"object"}`, `is not a supported dialect`},
		"http reference":      {`{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`, `references to other documents are not followed`},
		"file reference":      {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `references to other documents are not followed`},
		"relative reference":  {`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`, `references to other documents are not followed`},
		"reference to a host": {`{"type":"object","properties":{"a":{"$ref":"//localhost/a"}}}`, `references to other documents are not followed`},
		"loaded dialect":      {`{"type":"object","properties":{"a":{"$id":"b","$schema":"http://localhost/dialect"}}}`, `references to other documents are not followed`},
		"dangling reference":  {`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, `input schema: `},
		"dangling anchor":     {`{"type":"object","properties":{"a":{"$ref":"#none"}}}`, `input schema: `},
		"bad pattern":         {`{"type":"object","properties":{"a":{"pattern":"("}}}`, `$.properties.a.pattern: expected the format regex`},
		"too deep":            {deep, `input schema: it nests more than 64 levels deep`},
		"too long":            {`{"type":"object","description":"` + strings.Repeat("x", maxSchemaLength) + `"}`, `input schema: it is longer than 262144 bytes`},
		"too many schemas":    {`{"type":"object","allOf":[` + strings.Repeat(`{},`, maxSubschemas) + `{}]}`, `input schema: it has more than 4096 subschemas`},
		"too much work":       {fanOut(20), `input schema: it applies more than 10000 schemas to one value`},
		"number out of range": {`{"type":"object","maxProperties":1e999999}`, `the number at "/maxProperties" is out of range`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compileInput(jsontext.Value(test.schema))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestCompileInputAccepts(t *testing.T) {
	for name, schema := range map[string]string{
		"nothing else":       `{"type":"object"}`,
		"no arguments":       `{"type":"object","additionalProperties":false}`,
		"2020-12":            `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		"2020-12, fragment":  `{"$schema":"https://json-schema.org/draft/2020-12/schema#","type":"object"}`,
		"draft-07":           `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`,
		"reference to $defs": `{"type":"object","$defs":{"a":{"$anchor":"a","type":"string"}},"properties":{"a":{"$ref":"#a"},"b":{"$ref":"#/$defs/a"}}}`,
		"reference by $id":   `{"type":"object","$defs":{"a":{"$id":"https://example.com/a","type":"string"}},"properties":{"a":{"$ref":"https://example.com/a"}}}`,
		"recursion":          `{"type":"object","properties":{"child":{"$ref":"#"}}}`,
		"unknown keywords":   `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`,
		"braces in strings":  `{"type":"object","description":"` + strings.Repeat(`{[\"`, 100) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compileInput(jsontext.Value(schema))
			assert.NoError(t, err)
		})
	}
}

// The dialect decides what a keyword means: items of an array are positions in
// draft-07, which 2020-12 does not allow.
func TestDialectIsHonoured(t *testing.T) {
	const rest = `"type":"object","properties":{"a":{"items":[{"type":"string"}]}}}`
	_, err := compileInput(jsontext.Value(`{` + rest))
	require.ErrorContains(t, err, "$.properties.a.items")
	compiled, err := compileInput(jsontext.Value(`{"$schema":"http://json-schema.org/draft-07/schema#",` + rest))
	require.NoError(t, err)
	assert.False(t, conforms(t, compiled, map[string]any{"a": []any{json.Number("1")}}))
}

func conforms(t testing.TB, s *schema, value any) bool {
	t.Helper()
	broken, err := s.validate(value)
	require.NoError(t, err)
	return broken == nil
}

// object decodes arguments as a call does.
func object(t testing.TB, arguments jsontext.Value) map[string]any {
	t.Helper()
	value, err := decodeValue(arguments)
	require.NoError(t, err)
	return value.(map[string]any)
}

// Dialects and keywords that the specification asks for or shows.
//
// Spec: MCP 2026-07-28, Base Protocol, JSON Schema Usage.
func TestKeywords(t *testing.T) {
	for name, test := range map[string]struct{ members, valid, invalid string }{
		"$defs and $ref":        {`"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}`, `{"a":"x"}`, `{"a":1}`},
		"$anchor":               {`"$defs":{"s":{"$anchor":"text","type":"string"}},"properties":{"a":{"$ref":"#text"}}`, `{"a":"x"}`, `{"a":1}`},
		"beside $ref":           {`"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}}`, `{"a":"x"}`, `{"a":"xy"}`},
		"$id":                   {`"$defs":{"s":{"$id":"https://example.com/s","type":"string"}},"properties":{"a":{"$ref":"https://example.com/s"}}`, `{"a":"x"}`, `{"a":1}`},
		"$dynamicRef":           {`"$id":"https://example.com/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,"$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","type":"object","properties":{"child":{"$dynamicRef":"#node"}}}}`, `{"child":{"child":{}}}`, `{"child":{"typo":{}}}`},
		"if, then":              {`"if":{"required":["a"]},"then":{"required":["b"]}`, `{"a":1,"b":2}`, `{"a":1}`},
		"else":                  {`"if":{"required":["a"]},"else":{"required":["b"]}`, `{"a":1}`, `{}`},
		"allOf":                 {`"allOf":[{"required":["a"]},{"required":["b"]}]`, `{"a":1,"b":2}`, `{"a":1}`},
		"anyOf":                 {`"anyOf":[{"required":["a"]},{"required":["b"]}]`, `{"b":1}`, `{"c":1}`},
		"oneOf":                 {`"oneOf":[{"required":["a"]},{"required":["b"]}]`, `{"b":1}`, `{"a":1,"b":1}`},
		"not":                   {`"not":{"required":["a"]}`, `{}`, `{"a":1}`},
		"unevaluatedProperties": {`"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false`, `{"a":1}`, `{"b":1}`},
		"unevaluatedItems":      {`"properties":{"a":{"allOf":[{"prefixItems":[true]}],"unevaluatedItems":false}}`, `{"a":[1]}`, `{"a":[1,2]}`},
		"prefixItems":           {`"properties":{"a":{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}`, `{"a":["x",1]}`, `{"a":["x","y"]}`},
		"contains":              {`"properties":{"a":{"contains":{"const":1},"minContains":2,"maxContains":2}}`, `{"a":[1,1,2]}`, `{"a":[1,2]}`},
		"dependentSchemas":      {`"dependentSchemas":{"a":{"required":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		"dependentRequired":     {`"dependentRequired":{"a":["b"]}`, `{"a":1,"b":1}`, `{"a":1}`},
		"propertyNames":         {`"propertyNames":{"pattern":"^[a-z]+$"}`, `{"a":1}`, `{"A":1}`},
		"patternProperties":     {`"patternProperties":{"^a":{"type":"string"}},"additionalProperties":false`, `{"ab":"x"}`, `{"ab":1}`},
		"draft-07 definitions":  {`"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"s":{"$id":"#text","type":"string"}},"properties":{"a":{"$ref":"#text"}}`, `{"a":"x"}`, `{"a":1}`},
		"draft-07 items":        {`"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}`, `{"a":["x"]}`, `{"a":["x","y"]}`},
		"draft-07 dependencies": {`"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"required":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileInput(jsontext.Value(`{"type":"object",` + test.members + `}`))
			require.NoError(t, err)
			assert.True(t, conforms(t, compiled, object(t, jsontext.Value(test.valid))))
			assert.False(t, conforms(t, compiled, object(t, jsontext.Value(test.invalid))))
		})
	}
}

// complaint is what a model is told of arguments that break schema.
func complaint(t testing.TB, schema, arguments string) string {
	t.Helper()
	compiled, err := compileInput(jsontext.Value(schema))
	require.NoError(t, err)
	return (&tool{input: compiled}).validate(object(t, jsontext.Value(arguments)))
}

func TestComplaints(t *testing.T) {
	property := func(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }
	for name, test := range map[string]struct{ schema, arguments, want string }{
		"type":                {property(`{"type":"integer"}`), `{"a":"x"}`, `$.a: expected integer, got "x"`},
		"types":               {property(`{"type":["string","null"]}`), `{"a":[]}`, ` or `},
		"fraction":            {property(`{"type":"integer"}`), `{"a":1.5}`, `$.a: expected integer, got 1.5`},
		"enum":                {property(`{"enum":["x",1,null]}`), `{"a":"y"}`, `$.a: expected one of "x", 1, null, got "y"`},
		"const":               {property(`{"const":"x"}`), `{"a":2}`, `$.a: expected "x", got 2`},
		"minimum":             {property(`{"minimum":0.1}`), `{"a":0.05}`, `$.a: expected at least 0.1, got 0.05`},
		"maximum":             {property(`{"maximum":9007199254740993}`), `{"a":9007199254740994}`, `$.a: expected at most 9007199254740993, got 9007199254740994`},
		"exclusive minimum":   {property(`{"exclusiveMinimum":1}`), `{"a":1}`, `$.a: expected more than 1, got 1`},
		"exclusive maximum":   {property(`{"exclusiveMaximum":1}`), `{"a":1}`, `$.a: expected less than 1, got 1`},
		"multiple":            {property(`{"multipleOf":0.01}`), `{"a":0.005}`, `$.a: expected a multiple of 0.01, got 0.005`},
		"length":              {property(`{"minLength":3}`), `{"a":"éé"}`, `$.a: expected at least 3 characters and not 2, got "éé"`},
		"items":               {property(`{"items":{"properties":{"odd name":{"type":"string"}}}}`), `{"a":[{},{"odd name":1}]}`, `$.a[1]["odd name"]: expected string, got 1`},
		"count":               {property(`{"maxItems":1}`), `{"a":[1,2]}`, `$.a: expected at most 1 items and not 2, got [1,2]`},
		"distinct":            {property(`{"uniqueItems":true}`), `{"a":[1,2,1.0]}`, `$.a: expected distinct items, but those at 0 and 2 are equal, got [1,2,1.0]`},
		"pattern":             {property(`{"pattern":"^x+$"}`), `{"a":"y"}`, `$.a: expected a string that matches "^x+$", got "y"`},
		"nested required":     {property(`{"required":["b","c"]}`), `{"a":{}}`, `$.a: missing "b", "c"`},
		"dependent required":  {property(`{"dependentRequired":{"b":["c"]}}`), `{"a":{"b":1}}`, `$.a: missing "c", required beside "b"`},
		"additional":          {property(`{"additionalProperties":false}`), `{"a":{"z":1,"b":2}}`, `$.a: unexpected "b", "z"`},
		"property names":      {property(`{"propertyNames":{"maxLength":1}}`), `{"a":{"long":1}}`, `$.a: the name "long" is not allowed`},
		"not":                 {property(`{"not":{"type":"string"}}`), `{"a":"x"}`, `$.a: expected something that is not excluded here, got "x"`},
		"any of":              {property(`{"anyOf":[{"type":"string"},{"minimum":3}]}`), `{"a":1}`, "$.a: expected one of the alternatives to match, got 1\n- $.a: expected string, got 1\n- $.a: expected at least 3, got 1"},
		"one of":              {property(`{"oneOf":[{"minimum":1},{"minimum":2}]}`), `{"a":3}`, `$.a: expected exactly one of the alternatives to match, but several do, got 3`},
		"by reference":        {`{"type":"object","$defs":{"s":{"type":"string"}},"allOf":[{"properties":{"a":{"$ref":"#/$defs/s"}}}]}`, `{"a":1}`, "Invalid arguments:\n- $.a: expected string, got 1"},
		"contains":            {property(`{"contains":{"const":1}}`), `{"a":[2]}`, `$.a: breaks the rule contains, got [2]`},
		"tiny bound":          {property(`{"minimum":1e-500}`), `{"a":0}`, `$.a: expected at least 1/1000`},
		"max length":          {property(`{"maxLength":1}`), `{"a":"éé"}`, `$.a: expected at most 1 characters and not 2`},
		"min items":           {property(`{"minItems":1}`), `{"a":[]}`, `$.a: expected at least 1 items and not 0, got []`},
		"min properties":      {property(`{"minProperties":1}`), `{"a":{}}`, `$.a: expected at least 1 properties and not 0, got {}`},
		"max properties":      {property(`{"maxProperties":0}`), `{"a":{"b":1}}`, `$.a: expected at most 0 properties and not 1, got {"b":1}`},
		"many additional":     {property(`{"additionalProperties":false}`), `{"a":{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1}}`, `"7", "8", and 1 more`},
		"draft-07 dependency": {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"b":["c"]}}`, `{"b":1}`, `$: missing "c", required beside "b"`},
		"long array":          {property(`{"maxItems":99}`), `{"a":[` + strings.Repeat("1,", 999) + `1]}`, `1,1,1…`},
		"long value":          {property(`{"type":"integer"}`), `{"a":"` + strings.Repeat("é", 300) + `"}`, `…`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, complaint(t, test.schema, test.arguments), test.want)
		})
	}
}

// A complaint is bounded whatever the arguments are, and always the same.
func TestComplaintIsBounded(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":{"type":"string"}}`
	arguments := map[string]any{}
	for i := range 300 {
		arguments[fmt.Sprintf("k%03d%s", i, strings.Repeat("x", i))] = []string{strings.Repeat("v", i)}
	}
	encoded, err := jsonrpc.Marshal(arguments)
	require.NoError(t, err)
	first := complaint(t, schema, string(encoded))
	assert.Contains(t, first, "\n- $.k000: expected string, got [\"\"]")
	assert.Contains(t, first, "\n- and 292 more")
	assert.Less(t, len(first), 4096)
	for range 5 {
		assert.Equal(t, first, complaint(t, schema, string(encoded)))
	}
}

func TestNumberBounds(t *testing.T) {
	for number, accepted := range map[string]bool{
		"9007199254740993": true, "-0.0": true, "1e512": true, "1E-512": true, "1e+512": true, strings.Repeat("9", 512): true,
		"1e513": false, "1e-513": false, "1e99999999999999999999": false, strings.Repeat("9", 513): false,
	} {
		value, err := decodeValue(jsontext.Value(number))
		if accepted {
			assert.Equal(t, json.Number(number), value)
		} else {
			assert.ErrorContains(t, err, "out of range", number)
		}
	}
}

// Whatever the arguments, validation does not panic, says no more than fits, and
// comes to the verdict of the validator that it stands in for.
func FuzzValidate(f *testing.F) {
	const schema = `{"type":"object","required":["n"],"properties":{
		"n":{"type":"integer","minimum":1,"maximum":10,"multipleOf":3},
		"s":{"type":"string","minLength":2,"pattern":"^a"},
		"l":{"type":"array","items":{"anyOf":[{"type":"string"},{"$ref":"#"}]},"uniqueItems":true,"maxItems":3,"contains":{"const":"x"}},
		"e":{"enum":[1,"x",null,[{"a":1.5}]]},
		"o":{"type":"object","patternProperties":{"^x":{"type":"number","exclusiveMinimum":-1,"exclusiveMaximum":1e3}},"minProperties":1,"dependentRequired":{"x":["y"]},
			"additionalProperties":{"$ref":"#/properties/u"}},
		"u":{"prefixItems":[{"type":"boolean"},{"not":{"type":"null"}}],"contains":{"type":"string"},"maxContains":2,"unevaluatedItems":{"oneOf":[{"minimum":2},{"multipleOf":0.3}]}}},
		"propertyNames":{"maxLength":5},"unevaluatedProperties":false,"if":{"required":["s"]},"then":{"required":["e"]}}`
	compiled, err := compileInput(jsontext.Value(schema))
	require.NoError(f, err)
	for _, seed := range []string{
		`{}`, `{"n":3}`, `{"n":1e400,"s":"b"}`, `{"n":1e99999,"l":[{"n":"x"},1,1]}`, `{"n":-0.5,"longname":{},"l":[[],"x"]}`, `{"n":null,"e":2,"é":1}`,
		`{"n":6.0,"o":{"x":0.5,"y":-0,"z":[true,1,"a",2.1,5]},"e":[{"a":15e-1}]}`, `{"n":9,"u":[false,[],"a",0.7,"b","c"],"s":"ab"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":` + arguments + `}}`
		req, refusal := mcp.ParseRequest([]byte(request))
		if refusal != nil || req.Params.Arguments.Kind() != '{' {
			return // never reaches a tool
		}
		value, err := decodeValue(req.Params.Arguments)
		if err != nil {
			return // a number out of range
		}
		values, _ := value.(map[string]any)
		complaint := (&tool{input: compiled}).validate(values)
		assert.Less(t, len(complaint), 8192)
		assert.Equal(t, compiled.Validate(values) == nil, complaint == "", complaint)
	})
}

// validationOfACall returns the validation of the arguments of a small call.
func validationOfACall(t testing.TB) func() {
	t.Helper()
	schema, err := compileInput([]byte(`{"type":"object","properties":{` +
		`"city":{"type":"string","minLength":1},"unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":14}},` +
		`"required":["city"],"additionalProperties":false}`))
	require.NoError(t, err)
	arguments, err := decodeValue([]byte(`{"city":"Amsterdam","unit":"celsius","days":3}`))
	require.NoError(t, err)
	validate := (&tool{input: schema}).validate
	require.Empty(t, validate(arguments.(map[string]any)))
	return func() { validate(arguments.(map[string]any)) }
}

func BenchmarkValidate(b *testing.B) {
	validate := validationOfACall(b)
	b.ReportAllocs()
	for b.Loop() {
		validate()
	}
}
