// Package wire holds what servers send against the JSON Schema that the
// specification publishes. Tests call Check with every message that they make a
// server send in the strict profile.
package wire

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

//go:embed schema.json
var schema []byte

//go:embed tasks.json
var tasksSchema []byte

// tasksDefinitions are the results and notifications of the tasks extension.
var tasksDefinitions = map[string]string{
	"tasks/get":           "GetTaskResult",
	"tasks/update":        "UpdateTaskResult",
	"tasks/cancel":        "CancelTaskResult",
	"notifications/tasks": "TaskStatusNotification",
}

// definitions are the responses and notifications by what they answer or are.
var definitions = map[string]string{
	"server/discover":          "DiscoverResultResponse",
	"tools/list":               "ListToolsResultResponse",
	"tools/call":               "CallToolResultResponse",
	"resources/list":           "ListResourcesResultResponse",
	"resources/read":           "ReadResourceResultResponse",
	"resources/templates/list": "ListResourceTemplatesResultResponse",
	"prompts/list":             "ListPromptsResultResponse",
	"prompts/get":              "GetPromptResultResponse",
	"completion/complete":      "CompleteResultResponse",
	"subscriptions/listen":     "SubscriptionsListenResultResponse",

	"notifications/cancelled":                  "CancelledNotification",
	"notifications/progress":                   "ProgressNotification",
	"notifications/message":                    "LoggingMessageNotification",
	"notifications/tools/list_changed":         "ToolListChangedNotification",
	"notifications/prompts/list_changed":       "PromptListChangedNotification",
	"notifications/resources/list_changed":     "ResourceListChangedNotification",
	"notifications/resources/updated":          "ResourceUpdatedNotification",
	"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}

// mcpErrors are the responses with errors that MCP defines. Those of JSON-RPC
// are defined as the error object alone.
var mcpErrors = map[int]string{
	-32020: "HeaderMismatchError",
	-32021: "MissingRequiredClientCapabilityError",
	-32022: "UnsupportedProtocolVersionError",
}

// Check fails the test if message, which a server has sent on the response
// stream of a request of method, is not as the specification has it.
func Check(t testing.TB, method string, message []byte) {
	t.Helper()
	require.NoErrorf(t, Validate(method, message), "message %s", message)
}

// Validate returns what is wrong with message.
func Validate(method string, message []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		return err
	}
	var m struct {
		Method *string
		Result json.RawMessage
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	if of, part := ofTasks(method, value); of != "" {
		return validate("tasks.json#/$defs/"+of, part)
	}
	name := "JSONRPCErrorResponse"
	switch {
	case m.Method != nil:
		name = definitions[*m.Method]
	case m.Result != nil:
		name = definitions[method]
	case m.Error != nil && isReserved(m.Error.Code):
		name = mcpErrors[m.Error.Code]
	}
	if name == "" {
		return fmt.Errorf("a server does not send this in answer to %s", method)
	}
	return validate("schema.json#/$defs/"+name, value)
}

// ofTasks names the definition of the extension that a message, or the part of it
// which is returned, has to conform to; none if it is not the extension's. The
// extension defines no responses, only results.
func ofTasks(method string, message any) (definition string, part any) {
	m, _ := message.(map[string]any)
	if notification, ok := m["method"].(string); ok {
		return tasksDefinitions[notification], message
	}
	result, ok := m["result"].(map[string]any)
	switch {
	case !ok:
		return "", nil
	case method == "tools/call" && result["resultType"] == "task":
		return "CreateTaskResult", result
	}
	return tasksDefinitions[method], result
}

func validate(definition string, value any) error {
	s, err := compiled().Compile(definition)
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// isReserved tells whether a code is of the range in which a server may emit
// what MCP defines and nothing else, or of the one below it that new servers
// leave alone.
//
// Spec: MCP 2026-07-28, Base Protocol, Error Codes.
func isReserved(code int) bool { return -32099 <= code && code <= -32000 }

// compiled returns the compiler that has the schema; it caches definitions.
var compiled = sync.OnceValue(func() *lockedCompiler {
	c := jsonschema.NewCompiler()
	for name, text := range map[string][]byte{"schema.json": schema, "tasks.json": tasksSchema} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			delete(value.(map[string]any), "$id") // it is found by its name here
			err = c.AddResource(name, value)
		}
		if err != nil {
			panic(err) // the file is part of this program
		}
	}
	return &lockedCompiler{compiler: c}
})

// A lockedCompiler is a compiler for several goroutines.
type lockedCompiler struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// Compile compiles a definition, or finds it.
func (c *lockedCompiler) Compile(location string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compiler.Compile(location)
}
