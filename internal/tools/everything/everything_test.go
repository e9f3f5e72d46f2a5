package everything_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/seal"
	"github.com/mcpyard/mcpyard/internal/tools/everything"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server serves the toolset, and records what it sends beside responses.
type server struct {
	*dispatch.Dispatcher
	events []mcp.Event
	sent   []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	keys, err := seal.ParseKeyring(strings.NewReader(seal.NewKey()), time.Hour, time.Now)
	require.NoError(t, err)
	s := &server{}
	s.Dispatcher, err = dispatch.New(dispatch.Config{
		Server:   mcp.Implementation{Name: "test", Version: "1"},
		Toolsets: []mcp.Toolset{everything.Toolset()},
		Keys:     keys,
		Events:   func(e mcp.Event) { s.events = append(s.events, e) },
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return s
}

const allCapabilities = `{"sampling":{},"elicitation":{},"roots":{}}`

type object = map[string]any

// ask sends a request of a client with capabilities. meta has further members
// of _meta, each with a comma before it.
func (s *server) ask(t *testing.T, method, params, capabilities, meta string) (result, fault object) {
	t.Helper()
	s.sent = nil
	req, refusal := mcp.ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + meta + `}}}`))
	require.Nil(t, refusal)
	res := s.Handle(t.Context(), req, func(n []byte) { s.sent = append(s.sent, string(n)) })
	var message struct {
		Result object `json:"result"`
		Error  object `json:"error"`
	}
	require.NoError(t, json.Unmarshal(res.Body, &message))
	return message.Result, message.Error
}

// result is the result of a request of a client with all capabilities.
func (s *server) result(t *testing.T, method, params string) object {
	t.Helper()
	result, fault := s.ask(t, method, params, allCapabilities, "")
	require.Nil(t, fault)
	return result
}

func (s *server) call(t *testing.T, tool, params string) object {
	t.Helper()
	return s.result(t, "tools/call", `"name":"`+tool+`",`+params)
}

// first returns a member of the first element of a list in result.
func first(t *testing.T, result object, list string) object {
	t.Helper()
	elements, _ := result[list].([]any)
	require.NotEmpty(t, elements, list)
	element, ok := elements[0].(object)
	require.True(t, ok)
	return element
}

func TestContent(t *testing.T) {
	s := newServer(t)
	for tool, want := range map[string][]string{
		"test_simple_text": {"text"}, "test_image_content": {"image"}, "test_audio_content": {"audio"},
		"test_embedded_resource": {"resource"}, "test_resource_link": {"resource_link"},
		"test_multiple_content_types": {"text", "image", "resource"}, "test_annotated_content": {"text", "text"},
		"test_error_handling": {"text"},
	} {
		result := s.call(t, tool, "")
		var types []string
		for _, block := range result["content"].([]any) {
			types = append(types, block.(object)["type"].(string))
		}
		assert.Equal(t, want, types, tool)
		assert.Equal(t, tool == "test_error_handling", result["isError"], tool)
	}
	assert.Equal(t, "audio/wav", first(t, s.call(t, "test_audio_content", ""), "content")["mimeType"])
}

func TestProgressAndLogs(t *testing.T) {
	s := newServer(t)
	_, fault := s.ask(t, "tools/call", `"name":"test_tool_with_progress",`, "{}", `,"progressToken":"p"`)
	require.Nil(t, fault)
	require.Len(t, s.sent, 3)
	assert.Contains(t, s.sent[2], `{"progressToken":"p","progress":100,"total":100}`)

	for level, want := range map[string]int{"": 0, "debug": 3, "warning": 1, "error": 0} {
		meta := ""
		if level != "" {
			meta = `,"io.modelcontextprotocol/logLevel":"` + level + `"`
		}
		_, fault := s.ask(t, "tools/call", `"name":"test_logging_tool",`, "{}", meta)
		require.Nil(t, fault)
		assert.Len(t, s.sent, want, level)
	}
}

func TestSchemas(t *testing.T) {
	s := newServer(t)
	assert.Equal(t, "Hello, Ada!", first(t, s.call(t, "greet", `"arguments":{"name":"Ada"},`), "content")["text"])
	assert.Equal(t, object{"sum": 3.5}, s.call(t, "test_structured_content", `"arguments":{"a":1.5,"b":2},`)["structuredContent"])
	for _, arguments := range []string{`{"a":1.7e308,"b":1.7e308}`, `{"a":1e400,"b":1}`} {
		assert.Equal(t, true, s.call(t, "test_structured_content", `"arguments":`+arguments+`,`)["isError"], arguments)
	}
	for arguments, isError := range map[string]bool{
		`{"phone":"1","contactMethod":"phone"}`:                          false,
		`{"email":"a@b","contactMethod":"email","address":{"city":"x"}}`: false,
		`{"email":"a@b","contactMethod":"phone"}`:                        true,
		`{"name":"x"}`:                         true,
		`{"email":"a@b","fax":"1"}`:            true,
		`{"email":"a@b","address":{"city":1}}`: true,
	} {
		assert.Equal(t, isError, s.call(t, "json_schema_2020_12_tool", `"arguments":`+arguments+`,`)["isError"], arguments)
	}
	assert.Equal(t, "Region: any string", first(t, s.call(t, "test_x_mcp_header", `"arguments":{"region":"any string"},`), "content")["text"])
}

// A client is asked as long as there is something to answer, and its answers and
// the state lead on.
func TestInputs(t *testing.T) {
	const (
		form     = `{"action":"accept","content":{"name":"Ada"}}`
		sampled  = `{"role":"assistant","model":"m","content":{"type":"text","text":"Paris"}}`
		roots    = `{"roots":[{"uri":"file:///a"}]}`
		confirm  = `{"action":"accept","content":{"ok":true}}`
		colour   = `{"action":"accept","content":{"color":"red"}}`
		declined = `{"action":"decline"}`
	)
	for tool, rounds := range map[string][]string{
		"elicitation":     {`"user_name":` + form},
		"sampling":        {`"capital":` + sampled},
		"list_roots":      {`"roots":` + roots},
		"request_state":   {`"confirm":` + confirm},
		"tampered_state":  {`"confirm":` + declined},
		"multiple_inputs": {`"user_name":` + form + `,"capital":` + sampled + `,"roots":` + roots},
		"multi_round":     {`"user_name":` + form, `"color":` + colour},
		"capabilities":    {`"user_name":` + form + `,"capital":` + sampled + `,"roots":` + roots},
	} {
		t.Run(tool, func(t *testing.T) {
			s := newServer(t)
			params, states := "", map[any]bool{}
			for _, answers := range rounds {
				result := s.call(t, "test_input_required_result_"+tool, params)
				require.Equal(t, "input_required", result["resultType"])
				assert.NotEmpty(t, result["inputRequests"])
				params = `"inputResponses":{` + answers + `},`
				if state, ok := result["requestState"].(string); ok {
					assert.False(t, states[state], "each round has a state of its own")
					states[state] = true
					params += `"requestState":"` + state + `",`
				}
			}
			result := s.call(t, "test_input_required_result_"+tool, params)
			assert.Equal(t, "complete", result["resultType"])
			assert.NotEmpty(t, first(t, result, "content")["text"])
		})
	}
}

func TestInputsThatTheClientCannotGive(t *testing.T) {
	s := newServer(t)
	for tool, capabilities := range map[string]string{
		"test_missing_capability": `{}`, "test_input_required_result_capabilities": `{}`,
		"test_input_required_result_elicitation": `{"sampling":{}}`,
	} {
		_, fault := s.ask(t, "tools/call", `"name":"`+tool+`",`, capabilities, "")
		assert.EqualValues(t, mcp.CodeMissingCapability, fault["code"], tool)
	}
	result, fault := s.ask(t, "tools/call", `"name":"test_input_required_result_capabilities",`, `{"sampling":{}}`, "")
	require.Nil(t, fault)
	assert.Len(t, result["inputRequests"], 1)
	assert.Equal(t, "sampling/createMessage", result["inputRequests"].(object)["capital"].(object)["method"])
}

func TestTamperedState(t *testing.T) {
	s := newServer(t)
	state, _ := s.call(t, "test_input_required_result_tampered_state", "")["requestState"].(string)
	require.NotEmpty(t, state)
	_, fault := s.ask(t, "tools/call", `"name":"test_input_required_result_tampered_state","requestState":"`+state+`-TAMPERED",`, allCapabilities, "")
	assert.EqualValues(t, -32602, fault["code"])
}

func TestChanges(t *testing.T) {
	s := newServer(t)
	for _, tool := range []string{"tool_change", "prompt_change", "resource_change", "resource_update"} {
		s.call(t, "test_trigger_"+tool, "")
	}
	assert.Equal(t, []mcp.Event{
		mcp.ToolsListChanged(), mcp.PromptsListChanged(), mcp.ResourcesListChanged(), mcp.ResourceUpdated("test://static-text"),
	}, s.events)
}

func TestResources(t *testing.T) {
	s := newServer(t)
	listed := s.result(t, "resources/list", "")
	assert.Equal(t, "public", listed["cacheScope"])
	assert.Equal(t, "test://static-binary", first(t, listed, "resources")["uri"])
	for uri, member := range map[string]string{"test://static-text": "text", "test://static-binary": "blob", "test://template/123/data": "text"} {
		contents := first(t, s.result(t, "resources/read", `"uri":"`+uri+`",`), "contents")
		assert.Equal(t, uri, contents["uri"])
		assert.NotEmpty(t, contents[member])
		assert.NotEmpty(t, contents["mimeType"])
	}
	for _, uri := range []string{"test://none", "test://template//data", "test://template/1/2/data", "test://template/data", "test://template/1"} {
		_, fault := s.ask(t, "resources/read", `"uri":"`+uri+`",`, "{}", "")
		assert.EqualValues(t, -32602, fault["code"], uri)
	}
}

func TestPrompts(t *testing.T) {
	s := newServer(t)
	for params, want := range map[string]string{
		`"name":"test_simple_prompt",`:                                                                                                     "text",
		`"name":"test_prompt_with_arguments","arguments":{"arg1":"a","arg2":"b"},`:                                                         "text",
		`"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://static-text"},`:                                    "resource",
		`"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://other"},`:                                          "resource",
		`"name":"test_prompt_with_image",`:                                                                                                 "image",
		`"name":"test_input_required_result_prompt","inputResponses":{"prompt_context":{"action":"accept","content":{"context":"bees"}}},`: "text",
		`"name":"test_input_required_result_prompt","inputResponses":{"prompt_context":{"action":"cancel"}},`:                              "text",
	} {
		message := first(t, s.result(t, "prompts/get", params), "messages")
		assert.Equal(t, "user", message["role"])
		assert.Equal(t, want, message["content"].(object)["type"], params)
	}
	assert.Equal(t, "input_required", s.result(t, "prompts/get", `"name":"test_input_required_result_prompt",`)["resultType"])
}

func TestCompletion(t *testing.T) {
	s := newServer(t)
	values := func(params string) any {
		return s.result(t, "completion/complete", params)["completion"].(object)["values"]
	}
	const prompt = `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},`
	assert.Equal(t, []any{"test", "testValue1", "testValue2"}, values(prompt+`"argument":{"name":"arg1","value":"test"},`))
	assert.Equal(t, []any{"x-one", "x-two"}, values(prompt+`"argument":{"name":"arg2","value":"x"},"context":{"arguments":{"arg1":"x"}},`))
	assert.Equal(t, []any{"12", "123"},
		values(`"ref":{"type":"ref/resource","uri":"test://template/{id}/data"},"argument":{"name":"id","value":"12"},`))
}

func TestDiscovery(t *testing.T) {
	capabilities := newServer(t).result(t, "server/discover", "")["capabilities"].(object)
	for _, name := range []string{"tools", "prompts", "resources", "completions", "logging"} {
		assert.Contains(t, capabilities, name)
	}
}
