package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A tool that greets whoever the client says is there. It keeps nothing between
// the two requests: the second one brings the answer along.
func ExampleServer() {
	server := dispatch.NewServer(slog.Default())
	schema := map[string]any{
		"type":       "object",
		"properties": map[string]any{"greeting": map[string]any{"type": "string"}},
		"required":   []string{"greeting"},
	}
	greet := func(_ context.Context, arguments map[string]any, inputs mcp.InputResponses) (any, error) {
		name, ok := inputs.Text("name")
		if !ok {
			return nil, &mcp.InputRequired{Requests: []mcp.InputRequest{mcp.Ask("name", "Who is there?")}}
		}
		return fmt.Sprintf("%s, %s!", arguments["greeting"], name), nil
	}
	if err := server.RegisterTool("greet", "Greets a person", schema, greet); err != nil {
		fmt.Println(err)
		return
	}

	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"greet","arguments":{"greeting":"Hello"}%s}}`
	fmt.Printf("%s\n", server.HandleRequest(context.Background(), fmt.Appendf(nil, call, 1, ``)))
	fmt.Printf("%s\n", server.HandleRequest(context.Background(), fmt.Appendf(nil, call, 2, `,"inputResponses":{"name":"Ada"}`)))
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requests":[{"id":"name","prompt":"Who is there?"}],"content":[{"type":"text","text":"Additional client input is required before this tool can finish."}]}}
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Hello, Ada!"}]}}
}
