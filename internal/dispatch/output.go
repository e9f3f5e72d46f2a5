package dispatch

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// An output is a tool's result: blocks of content, or else text, the only block
// of most. Its JSON form is that of blocks in the strict profile.
type output struct {
	text       string         // counts if Content is nil
	Content    []mcp.Content  `json:"content"`
	Structured jsontext.Value `json:"structuredContent,omitzero"`
	IsError    bool           `json:"isError"`
}

// contractOutput is what the contract profile shows of blocks.
type contractOutput struct {
	Content []mcp.Content `json:"content"`
	IsError bool          `json:"isError,omitzero"`
}

func (o output) result(profile mcp.Profile) (result, error) {
	switch {
	case o.Content == nil:
		return result{object: o.textObject(profile)}, nil
	case profile == mcp.Contract:
		return encode(contractOutput{Content: o.Content, IsError: o.IsError}, nil)
	}
	return encode(o, nil)
}

// textObject encodes an output of text without going through a []mcp.Content,
// since texts are what almost all calls return, and can be long.
func (o output) textObject(profile mcp.Profile) []byte {
	dst := make([]byte, 0, len(o.text)+len(o.Structured)+128)
	dst = append(dst, `{"content":[{"type":"text","text":`...)
	dst = jsonrpc.AppendString(dst, o.text)
	dst = append(dst, `}]`...)
	if profile == mcp.Strict && o.Structured != nil {
		dst = append(dst, `,"structuredContent":`...)
		dst = append(dst, o.Structured...)
	}
	switch {
	case o.IsError:
		dst = append(dst, `,"isError":true`...)
	case profile == mcp.Strict:
		dst = append(dst, `,"isError":false`...)
	}
	return append(dst, '}')
}

// failure is a tool error of which message tells the model everything.
func failure(message string) output { return output{text: message, IsError: true} }

// toolError is the tool error for an error or panic of the tool's function.
func toolError(err error) output { return failure("Error: " + err.Error()) }

// encode makes an output of what the tool's function returned. A string is the
// text; any other value, nil too, becomes its JSON text. With an output schema
// the value is structured content as well, which has to conform.
func (t *tool) encode(value any) (o output, err error) {
	switch v := value.(type) {
	case *mcp.ToolResult:
		o, err = fromToolResult(v)
	case string:
		o.text = v
		if t.output != nil {
			o.Structured, err = jsonrpc.Marshal(v)
		}
	default:
		var encoded []byte
		encoded, err = jsonrpc.Marshal(v)
		o.text = string(encoded)
		if t.output != nil {
			o.Structured = encoded
		}
	}
	if err == nil {
		err = t.conforms(o)
	}
	if err != nil {
		return output{}, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return o, nil
}

// fromToolResult encodes the structured content, and shows it as text too where
// the tool gave no content of its own, for clients that know nothing of it.
//
// Spec: MCP 2026-07-28, Tools, Structured Content.
func fromToolResult(r *mcp.ToolResult) (output, error) {
	if r == nil {
		return output{}, fmt.Errorf("it returned a nil %T and no error", r)
	}
	o := output{Content: r.Content, IsError: r.IsError}
	if r.Structured == nil {
		o.Content = append([]mcp.Content{}, r.Content...) // none is not text
		return o, nil
	}
	encoded, err := jsonrpc.Marshal(r.Structured)
	if err != nil {
		return output{}, fmt.Errorf("encode structured content: %w", err)
	}
	o.Structured = encoded
	if len(o.Content) == 0 {
		o.text, o.Content = string(encoded), nil
	}
	return o, nil
}

// conforms holds a successful output against the output schema. The error names
// the keywords of the schema, and nothing of the content.
//
// Spec: MCP 2026-07-28, Tools, Output Schema.
func (t *tool) conforms(o output) error {
	if t.output == nil || o.IsError {
		return nil
	}
	if o.Structured == nil {
		return fmt.Errorf("it has an output schema, but returned no structured content")
	}
	value, err := decodeValue(o.Structured)
	if err != nil {
		return fmt.Errorf("structured content: %w", err)
	}
	broken, err := t.output.validate(value)
	switch {
	case err != nil:
		return fmt.Errorf("structured content: %w", err)
	case broken != nil:
		return fmt.Errorf("structured content breaks the output schema at %s", broken.firstKeyword())
	}
	return nil
}
