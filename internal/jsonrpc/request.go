// Package jsonrpc is a strict JSON-RPC 2.0 codec for the server's side: it
// reads requests and notifications and writes responses and notifications.
// What the methods mean is not its business; see package mcp for that.
//
// Spec: MCP 2026-07-28, Base Protocol, Messages.
package jsonrpc

import (
	"errors"

	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// Version is the only value of the member "jsonrpc".
const Version = "2.0"

// A Request is the envelope of a request or, without an ID, of a notification.
type Request struct {
	ID     ID
	Method string
}

// A Visitor is shown members while Parse passes them. Either may be nil. Each
// is called with the reader positioned at the member's value, which it must
// consume; the name is only valid during the call.
type Visitor struct {
	Param func(name []byte, r *strictjson.Reader) error // a member of params
	Other func(name []byte, r *strictjson.Reader) error // a member of the envelope that JSON-RPC does not define
}

// Parse reads one request or notification in a single pass. It refuses text
// that is not JSON with CodeParseError, and everything else that is not exactly
// one JSON-RPC 2.0 request with CodeInvalidRequest: batches, responses, members
// that occur twice or differ only in case, an id that is no string or integer,
// params that are no object.
//
// The ID is set also beside an error, if there was one that could be read.
func Parse(text []byte, v Visitor) (Request, *Error) {
	var found outcome
	p := parser{visit: v, outcome: &found}
	err := strictjson.Parse(text, p.envelope)
	switch {
	case errors.Is(err, strictjson.ErrNotJSON):
		return found.request, Errorf(CodeParseError, "Parse error: %v", err)
	case found.fault != nil:
		return found.request, found.fault
	case err != nil:
		return found.request, Errorf(CodeInvalidRequest, "Invalid request: %v", err)
	}
	return found.request, nil
}

type parser struct {
	visit    Visitor
	*outcome // apart, or the functions of visit would escape to the heap with it

	version, method, id bool
}

type outcome struct {
	request Request
	fault   *Error // the first thing wrong with the request; reading goes on for the id
}

func (p *parser) refuse(reason string) {
	if p.fault == nil {
		p.fault = Errorf(CodeInvalidRequest, "Invalid request: %s", reason)
	}
}

func (p *parser) envelope(r *strictjson.Reader) error {
	if r.Kind() == '[' {
		p.refuse("batches are not supported, send one request")
	}
	isObject, err := r.Object(func(name []byte) error { return p.member(name, r) })
	switch {
	case err != nil:
		return err
	case !isObject:
		p.refuse("a request is an object")
	case !p.version:
		p.refuse(`the member "jsonrpc" is missing`)
	case !p.method:
		p.refuse(`the member "method" is missing`)
	}
	return nil
}

func (p *parser) member(name []byte, r *strictjson.Reader) error {
	switch string(name) {
	case "jsonrpc":
		version, _, err := r.Bytes()
		p.version = true
		if string(version) != Version {
			p.refuse(`the member "jsonrpc" must be "2.0"`)
		}
		return err
	case "method":
		method, isString, err := r.Text()
		p.method = true
		p.request.Method = method
		if !isString {
			p.refuse(`the member "method" must be a string`)
		}
		return err
	case "id":
		return p.readID(r)
	case "params":
		return p.params(r)
	case "result", "error":
		p.refuse("a client sends requests and notifications, no responses")
	}
	if p.visit.Other != nil {
		return p.visit.Other(name, r)
	}
	_, err := r.Value()
	return err
}

func (p *parser) readID(r *strictjson.Reader) error {
	raw, err := r.Value()
	if err != nil {
		return err
	}
	id, ok := ParseID(raw)
	switch {
	case !ok:
		p.refuse(`the member "id" must be a string or an integer`)
	case p.id: // there are two, and the reader refuses them: neither is the id
		id = ""
	}
	p.id = true
	p.request.ID = id
	return nil
}

func (p *parser) params(r *strictjson.Reader) error {
	isObject, err := r.Object(func(name []byte) error {
		if p.visit.Param != nil {
			return p.visit.Param(name, r)
		}
		_, err := r.Value()
		return err
	})
	if !isObject {
		p.refuse(`the member "params" must be an object`)
	}
	return err
}
