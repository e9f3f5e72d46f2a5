package mcp

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// InputResponses has a client's answers, by the id of the input request. Their
// content is whatever the client sent; answers that were not asked for are to
// be ignored, and missing ones asked for again.
type InputResponses map[string]jsontext.Value

// ParseInputResponses reads the member inputResponses of a request; nil if it is
// absent.
func ParseInputResponses(raw jsontext.Value) (InputResponses, *jsonrpc.Error) {
	if IsAbsent(raw) {
		return nil, nil
	}
	var responses InputResponses
	if err := json.Unmarshal(raw, &responses); err != nil {
		return nil, InvalidParams("inputResponses must be an object")
	}
	return responses, nil
}

// or returns the answers with those of earlier rounds, of which newer ones win.
func (r InputResponses) or(earlier InputResponses) InputResponses {
	if len(earlier) == 0 {
		return r
	}
	all := maps.Clone(earlier)
	maps.Copy(all, r)
	return all
}

// Input returns nil once the client has answered all requests with what they ask
// for; a form that was declined is answered. Otherwise it returns the error that
// asks for what is missing. The answers that are there come back with it, so
// that a handler may ask for one thing after the other and the user is never
// asked twice.
func (c *Call) Input(requests ...InputRequest) error {
	var missing []InputRequest
	for _, r := range requests {
		if r.answered(c.InputResponses) {
			c.answered = append(c.answered, r.ID)
		} else {
			missing = append(missing, r)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &InputRequired{Requests: missing}
}

// Answered returns the answers that Input has accepted, which must not get lost
// between two rounds.
func (c *Call) Answered() InputResponses {
	kept := make(InputResponses, len(c.answered))
	for _, id := range c.answered {
		kept[id] = c.InputResponses[id]
	}
	return kept
}

// answered tells whether responses has an answer to r of the kind that it needs.
func (r InputRequest) answered(responses InputResponses) (ok bool) {
	switch r.Method {
	case "":
		_, ok = responses.Text(r.ID)
	case MethodElicit:
		var form ElicitResult
		form, ok = responses.Elicited(r.ID)
		ok = ok && (!form.Accepted() || r.fits(form.Content))
	case MethodCreateMessage:
		_, ok = responses.Sampled(r.ID)
	case MethodListRoots:
		_, ok = responses.Roots(r.ID)
	}
	return ok
}

// fits tells whether content is the form filled in.
func (r InputRequest) fits(content map[string]jsontext.Value) bool {
	return !slices.ContainsFunc(r.fields, func(f Field) bool { return !f.accepts(content[f.Name]) })
}

// An ElicitResult is a client's answer to a form or visit.
//
// Spec: schema, ElicitResult.
type ElicitResult struct {
	Action  string                    `json:"action"`
	Content map[string]jsontext.Value `json:"content,omitzero"`
}

// Accepted tells whether the user filled the form in, or agreed to the visit.
func (e ElicitResult) Accepted() bool { return e.Action == "accept" }

// Elicited returns the answer to the form or visit id; ok is false when there is
// none of that shape.
func (r InputResponses) Elicited(id string) (result ElicitResult, ok bool) {
	if !r.decode(id, &result) {
		return ElicitResult{}, false
	}
	switch result.Action {
	case "accept", "decline", "cancel":
		return result, true
	}
	return ElicitResult{}, false
}

// Text returns the answer to the plain question id: the string itself, or that
// of the form which the question was shown as.
func (r InputResponses) Text(id string) (answer string, ok bool) {
	if answer, ok = Text(r[id]); ok {
		return answer, true
	}
	if form, ok := r.Elicited(id); ok && form.Accepted() {
		return Text(form.Content[id])
	}
	return "", false
}

// A SamplingResult is what the client's model answered.
//
// Spec: schema, CreateMessageResult.
type SamplingResult struct {
	Role       Role           `json:"role"`
	Model      string         `json:"model"`
	StopReason string         `json:"stopReason"`
	Content    jsontext.Value `json:"content"` // a block or several
}

// A samplingBlock has what tells whether a block of an answer is one.
//
// Spec: schema, SamplingMessageContentBlock.
type samplingBlock struct {
	Type      string           `json:"type"`
	Text      *string          `json:"text"`
	Data      *[]byte          `json:"data"` // base64
	MIMEType  *string          `json:"mimeType"`
	ID        *string          `json:"id"`
	Name      *string          `json:"name"`
	Input     jsontext.Value   `json:"input"`
	ToolUseID *string          `json:"toolUseId"`
	Content   []jsontext.Value `json:"content"`
}

func (b samplingBlock) isWellFormed() bool {
	switch b.Type {
	case "text":
		return b.Text != nil
	case "image", "audio":
		return b.Data != nil && b.MIMEType != nil
	case "tool_use":
		return b.ID != nil && b.Name != nil && b.Input.Kind() == '{'
	case "tool_result":
		return b.ToolUseID != nil && b.Content != nil
	}
	return false
}

// blocks returns the blocks of the answer; ok is false if it does not consist of
// blocks.
func (s SamplingResult) blocks() (blocks []samplingBlock, ok bool) {
	content := s.Content
	if content.Kind() == '{' {
		content = slices.Concat(jsontext.Value("["), content, jsontext.Value("]"))
	}
	if content.Kind() != '[' || json.Unmarshal(content, &blocks) != nil {
		return nil, false
	}
	return blocks, !slices.ContainsFunc(blocks, func(b samplingBlock) bool { return !b.isWellFormed() })
}

// Text is the text of the answer's first block that has one.
func (s SamplingResult) Text() string {
	blocks, _ := s.blocks()
	for _, b := range blocks {
		if b.Text != nil {
			return *b.Text
		}
	}
	return ""
}

// Sampled returns the answer to the sampling request id; ok is false when there
// is none of that shape.
func (r InputResponses) Sampled(id string) (result SamplingResult, ok bool) {
	if !r.decode(id, &result) || result.Role != "assistant" && result.Role != "user" || result.Model == "" {
		return SamplingResult{}, false
	}
	if _, ok := result.blocks(); !ok {
		return SamplingResult{}, false
	}
	return result, true
}

// A Root is a directory or file that the client lets the server work in.
//
// Spec: schema, Root.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitzero"`
}

// Roots returns the answer to the request for roots id; ok is false when there
// is none of that shape, or one with anything but files.
func (r InputResponses) Roots(id string) (roots []Root, ok bool) {
	var result struct {
		Roots []Root `json:"roots"`
	}
	if !r.decode(id, &result) || result.Roots == nil {
		return nil, false
	}
	if slices.ContainsFunc(result.Roots, func(r Root) bool { return !strings.HasPrefix(r.URI, "file://") }) {
		return nil, false
	}
	return result.Roots, true
}

func (r InputResponses) decode(id string, v any) bool {
	raw, ok := r[id]
	return ok && raw.Kind() == '{' && json.Unmarshal(raw, v) == nil
}
