package mcp

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// A Profile is a set of rules that a request is answered by. It depends on the
// door through which the request came.
type Profile int

// The two profiles.
const (
	Strict   Profile = iota // MCP as published: POST /mcp and stdio
	Contract                // the plain JSON-RPC tool server contract: POST /rpc
)

func (p Profile) String() string {
	if p == Contract {
		return "contract"
	}
	return "strict"
}

// A Request is one JSON-RPC request or, without an ID, notification. It is
// parsed once in each process and read-only afterwards.
type Request struct {
	jsonrpc.Request
	Params Params
	Meta   Meta

	// Raw is the message as received. Params and Meta alias it.
	Raw []byte

	// Set by the transport, never by the client:

	Profile   Profile
	Pool      string // the pool that is to answer
	Principal string // the authenticated caller; empty when there is no authentication

	// Mirrored says that the request came over a transport on which headers
	// repeat arguments that tools mark for it, so that ParamHeaders has to agree
	// with the arguments.
	Mirrored     bool
	ParamHeaders ParamHeaders

	envelopeVersion jsontext.Value // _meta.protocolVersion beside params
}

// Params has the members of params that this revision defines, as raw JSON;
// an absent one is nil.
type Params struct {
	Name           jsontext.Value
	URI            jsontext.Value
	Cursor         jsontext.Value
	Arguments      jsontext.Value
	InputResponses jsontext.Value
	RequestState   jsontext.Value
	RequestID      jsontext.Value // of notifications/cancelled
	Ref            jsontext.Value // of completion/complete, as the next two
	Argument       jsontext.Value
	Context        jsontext.Value
	Notifications  jsontext.Value // the filter of subscriptions/listen
	TaskID         jsontext.Value // of the methods of the tasks extension
}

// ParseRequest reads raw, which must not change while the request is in use. On
// an error the request still has its ID, if one could be read.
//
// It refuses what is wrong whatever the profile. ValidateMeta adds what only the
// strict profile asks for, and ValidateVersion what each asks of the version.
func ParseRequest(raw []byte) (*Request, *jsonrpc.Error) {
	req := &Request{Raw: raw}
	envelope, err := jsonrpc.Parse(raw, jsonrpc.Visitor{Param: req.readParam, Other: req.readOther})
	req.Request = envelope
	return req, err
}

// IsNotification tells whether the client expects no response.
func (r *Request) IsNotification() bool { return r.ID == "" }

// Clone returns a copy of r that stays as it is when the memory of r is used for
// something else.
func (r *Request) Clone() *Request {
	c, _ := ParseRequest(slices.Clone(r.Raw)) // as it was before
	c.Profile, c.Pool, c.Principal = r.Profile, r.Pool, r.Principal
	c.Mirrored, c.ParamHeaders = r.Mirrored, r.ParamHeaders
	return c
}

// Target is the name of the tool or prompt, the URI of the resource or the id of
// the task that the request is about; ok is false when its method names none, or
// params has no such string.
func (r *Request) Target() (target string, ok bool) {
	switch r.Method {
	case MethodToolsCall, MethodPromptsGet:
		return Text(r.Params.Name)
	case MethodResourcesRead:
		return Text(r.Params.URI)
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel:
		return Text(r.Params.TaskID)
	}
	return "", false
}

func (r *Request) readParam(name []byte, reader *strictjson.Reader) (err error) {
	switch string(name) {
	case "name":
		r.Params.Name, err = reader.Value()
	case "uri":
		r.Params.URI, err = reader.Value()
	case "cursor":
		r.Params.Cursor, err = reader.Value()
	case "arguments":
		r.Params.Arguments, err = reader.Value()
	case "inputResponses":
		r.Params.InputResponses, err = reader.Value()
	case "requestState":
		r.Params.RequestState, err = reader.Value()
	case "requestId":
		r.Params.RequestID, err = reader.Value()
	case "notifications":
		r.Params.Notifications, err = reader.Value()
	case "ref":
		r.Params.Ref, err = reader.Value()
	case "argument":
		r.Params.Argument, err = reader.Value()
	case "context":
		r.Params.Context, err = reader.Value()
	case "taskId":
		r.Params.TaskID, err = reader.Value()
	case "_meta":
		err = r.Meta.read(reader)
	default:
		_, err = reader.Value()
	}
	return err
}

// readOther reads the _meta that the contract profile allows beside params.
func (r *Request) readOther(name []byte, reader *strictjson.Reader) error {
	if string(name) != "_meta" {
		_, err := reader.Value()
		return err
	}
	_, err := reader.Object(func(name []byte) (err error) {
		value, err := reader.Value()
		isKey := string(name) == "protocolVersion" || string(name) == metaProtocolVersion
		if isKey && isVersion(r.envelopeVersion) { // of two, a wrong one is kept
			r.envelopeVersion = value
		}
		return err
	})
	return err
}

// Text decodes raw, a valid JSON value, if it is a string.
func Text(raw jsontext.Value) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	unquoted, err := jsontext.AppendUnquote(nil, raw)
	return string(unquoted), err == nil
}

// IsAbsent tells whether a member is missing; null counts as missing.
func IsAbsent(raw jsontext.Value) bool { return len(raw) == 0 || raw[0] == 'n' }
