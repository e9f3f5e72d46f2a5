package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/test/wire"
)

// A caller sends requests to an ingress over HTTP. It may be used concurrently.
type caller struct {
	url  string // of the ingress
	http *http.Client
}

func newCaller(t testing.TB, url string) *caller {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{url: url, http: &http.Client{Transport: transport}}
}

// A post is what an HTTP client sends.
type post struct {
	path   string
	header map[string]string // beside what every client sends
	body   string
}

// meta is the metadata of every request of the strict profile.
const meta = `"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},` +
	`"progressToken":"p"}`

// strict returns a request of the strict profile, about target where the method
// has one. members are those of params in JSON, without braces.
func strict(method, target, members string) post {
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if target != "" {
		header["Mcp-Name"] = target
	}
	return post{path: "/mcp", header: header, body: request(method, join(meta, members))}
}

// contract returns a request of the contract profile.
func contract(method, members string) post {
	return post{path: "/rpc", body: request(method, members)}
}

// tool returns a tool call of the strict profile; arguments are a JSON object.
func tool(name, arguments string) post {
	return strict("tools/call", name, fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments))
}

// endlessArguments make slow run longer than any test has patience, and tell
// its first progress soon.
const endlessArguments = `{"seconds":25}`

func endless() post { return tool("slow", endlessArguments) }

func request(method, members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"r-1","method":%q,"params":{%s}}`, method, members)
}

// join joins members of an object; empty ones are left out.
func join(members ...string) string {
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" })
	return strings.Join(members, ",")
}

// in returns the request for the door of a pool.
func (p post) in(pool string) post {
	p.path += "/" + pool
	return p
}

// A stream is the response to a post while it is read.
type stream struct {
	*http.Response
	post  post
	lines *bufio.Scanner
}

// open sends p and returns when the response begins. Its body must be closed.
func (c *caller) open(ctx context.Context, p post) (*stream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+p.path, strings.NewReader(p.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range p.header {
		req.Header.Set(name, value)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 8<<20)
	return &stream{Response: res, post: p, lines: lines}, nil
}

// next returns the next message, of an event or the whole body; ok is false at
// the end.
func (s *stream) next() (message []byte, ok bool) {
	for s.lines.Scan() {
		line := bytes.TrimPrefix(s.lines.Bytes(), []byte("data: "))
		if len(line) > 0 && line[0] != ':' {
			return bytes.Clone(line), true
		}
	}
	return nil, false
}

// An answer is a response that has been read to its end.
type answer struct {
	status   int
	header   http.Header
	messages []json.RawMessage // notifications, then the response
}

func (s *stream) rest() (answer, error) {
	defer s.Body.Close()
	a := answer{status: s.StatusCode, header: s.Header}
	for {
		message, ok := s.next()
		if !ok {
			return a, s.lines.Err()
		}
		if err := s.check(message); err != nil {
			return a, fmt.Errorf("%s: %w", message, err)
		}
		a.messages = append(a.messages, message)
	}
}

// check holds a message of the strict profile against the published schema.
func (s *stream) check(message []byte) error {
	if !strings.HasPrefix(s.post.path, "/mcp") {
		return nil
	}
	return wire.Validate(s.post.header["Mcp-Method"], message)
}

// send sends p and returns the answer.
func (c *caller) send(ctx context.Context, p post) (answer, error) {
	s, err := c.open(ctx, p)
	if err != nil {
		return answer{}, err
	}
	return s.rest()
}

// ask is send where an answer must come.
func (c *caller) ask(t testing.TB, p post) answer {
	t.Helper()
	a, err := c.send(t.Context(), p)
	require.NoError(t, err)
	return a
}

// response is the last message; empty when there is none.
func (a answer) response() string {
	if len(a.messages) == 0 {
		return ""
	}
	return string(a.messages[len(a.messages)-1])
}

// A response has the members of responses that tests look at.
type response struct {
	Result *struct {
		ResultType string `json:"resultType"`
		IsError    bool   `json:"isError"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (a answer) decode() (r response, err error) {
	return r, json.Unmarshal([]byte(a.response()), &r)
}

// text returns the text of a tool call that was complete and no tool error, or
// what the answer was instead.
func (a answer) text() (string, error) {
	r, err := a.decode()
	if err != nil || a.status != http.StatusOK || r.Result == nil || r.Result.IsError || len(r.Result.Content) != 1 {
		return "", fmt.Errorf("HTTP %d: %s", a.status, a.response())
	}
	return r.Result.Content[0].Text, nil
}

// code returns the code of the error that the answer must be.
func (a answer) code(t testing.TB) int {
	t.Helper()
	r, err := a.decode()
	require.NoError(t, err)
	require.NotNil(t, r.Error, a.response())
	return r.Error.Code
}

// structured decodes the structured content of a tool's result into v.
func (a answer) structured(t testing.TB, v any) {
	t.Helper()
	_, err := a.text()
	require.NoError(t, err)
	r, err := a.decode()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(r.Result.Structured, v))
}
