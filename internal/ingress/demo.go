package ingress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A demo is a client that plays a conversation and shows it.
type demo struct {
	url string
	out io.Writer
	ids int
}

// playDemo sends a client's requests to the server at url and prints what
// happens. It fails when an answer is not of the kind that it should be.
func playDemo(ctx context.Context, url string, out io.Writer) error {
	d := &demo{url: url + "/mcp", out: out}
	fmt.Fprintf(out, "A conversation with %s: HTTP, NATS, a worker, its tools, and back.\n", d.url)
	for _, play := range []func(context.Context) error{d.look, d.call, d.keepNotes, d.misspeak} {
		if err := play(ctx); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	fmt.Fprintln(out, "\nThat was all. Without -demo the server stays.")
	return nil
}

// look asks for all that there is.
func (d *demo) look(ctx context.Context) error {
	for _, method := range []string{
		mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodPromptsList,
	} {
		if _, err := d.request(ctx, method, method, object{}); err != nil {
			return err
		}
	}
	return nil
}

// call calls tools: one that works, one that fails, one that takes its time.
func (d *demo) call(ctx context.Context) error {
	for _, c := range []struct {
		title, name string
		arguments   object
	}{
		{"a tool call", "calculate_sum", object{"a": 0.1, "b": 0.2}},
		{"a tool error, which the model reads", "divide", object{"a": 1, "b": 0}},
		{"a tool call with progress, as a stream", "slow", object{"seconds": 0.2}},
	} {
		if _, err := d.tool(ctx, c.title, c.name, c.arguments, nil); err != nil {
			return err
		}
	}
	return nil
}

// keepNotes makes a note, reads it, and deletes it after an input round trip.
func (d *demo) keepNotes(ctx context.Context) error {
	created, err := d.tool(ctx, "make a note", "notes_create",
		object{"title": "Groceries", "body": "Milk and bread.", "tag": "home"}, nil)
	if err != nil {
		return err
	}
	note, _ := created["structuredContent"].(object)
	id, ok := note["id"].(string)
	if !ok {
		return errors.New("the note that was made has no id")
	}
	if _, err := d.request(ctx, "read it as a resource, whichever worker answers", mcp.MethodResourcesRead, object{"uri": "notes://" + id}); err != nil {
		return err
	}
	if _, err := d.request(ctx, "a prompt about it", mcp.MethodPromptsGet, object{"name": "review_note", "arguments": object{"note_id": id}}); err != nil {
		return err
	}
	asked, err := d.tool(ctx, "delete it: the server asks back", "notes_delete", object{"id": id}, nil)
	if err != nil {
		return err
	}
	if asked["resultType"] != "input_required" {
		return errors.New("the server did not ask before it deleted the note")
	}
	yes := object{"confirm": object{"action": "accept", "content": object{"confirm": true}}}
	deleted, err := d.tool(ctx, "the same request again, with the answer", "notes_delete", object{"id": id}, yes)
	if err == nil && deleted["resultType"] != "complete" {
		err = errors.New("the note was not deleted")
	}
	return err
}

// misspeak sends a request of a version that is not served.
func (d *demo) misspeak(ctx context.Context) error {
	_, err := d.send(ctx, "a protocol version of the past", mcp.MethodToolsList, object{}, "2025-11-25", "error")
	return err
}

type object = map[string]any

func (d *demo) tool(ctx context.Context, title, name string, arguments, inputResponses object) (object, error) {
	params := object{"name": name, "arguments": arguments}
	if inputResponses != nil {
		params["inputResponses"] = inputResponses
	}
	return d.request(ctx, title, mcp.MethodToolsCall, params)
}

func (d *demo) request(ctx context.Context, title, method string, params object) (object, error) {
	return d.send(ctx, title, method, params, mcp.Version, "result")
}

// send sends a request, prints it and all that comes back, and returns the
// member want, "result" or "error", of the response.
func (d *demo) send(ctx context.Context, title, method string, params object, version, want string) (object, error) {
	d.ids++
	fmt.Fprintf(d.out, "\n%d. %s\n", d.ids, title)
	show(d.out, "→ "+method+" ", params)
	params["_meta"] = object{
		"io.modelcontextprotocol/protocolVersion":    version,
		"io.modelcontextprotocol/clientInfo":         object{"name": "mcpyard-demo", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": object{"elicitation": object{}},
		"progressToken": d.ids,
	}
	req, err := d.post(ctx, object{"jsonrpc": "2.0", "id": d.ids, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req.Header.Set("MCP-Protocol-Version", version)
	req.Header.Set("Mcp-Method", method)
	for _, member := range []string{"name", "uri"} {
		if target, ok := params[member].(string); ok {
			req.Header.Set("Mcp-Name", target)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return d.read(res, want)
}

func (d *demo) post(ctx context.Context, message object) (*http.Request, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return req, nil
}

// read prints the messages of a response, a JSON object or a stream of them.
func (d *demo) read(res *http.Response, want string) (object, error) {
	prefix := ""
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/event-stream" {
		prefix = "data: "
	}
	var last object
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if message, ok := strings.CutPrefix(line, prefix); ok && strings.TrimSpace(message) != "" {
			last = nil
			if err := json.Unmarshal([]byte(message), &last); err != nil {
				return nil, err
			}
			show(d.out, fmt.Sprintf("← %d ", res.StatusCode), withoutEnvelope(last))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	member, ok := last[want].(object)
	if !ok {
		return nil, fmt.Errorf("the response has no %s", want)
	}
	return member, nil
}

// withoutEnvelope leaves out what is the same in every message.
func withoutEnvelope(message object) object {
	for _, name := range []string{"jsonrpc", "id"} {
		delete(message, name)
	}
	if result, ok := message["result"].(object); ok {
		delete(result, "_meta")
	}
	return message
}

// maxShown is how many bytes of a message are printed.
const maxShown = 400

func show(out io.Writer, prefix string, message object) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		text.WriteString(err.Error())
	}
	shown := strings.TrimSpace(text.String())
	if len(shown) > maxShown {
		shown = strings.ToValidUTF8(shown[:maxShown], "") + fmt.Sprintf(" … %d bytes more", len(shown)-maxShown)
	}
	fmt.Fprintf(out, "   %s%s\n", prefix, shown)
}
