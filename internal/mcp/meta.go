package mcp

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// Keys of _meta that the specification reserves.
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
	metaProgressToken      = "progressToken"
)

// MetaServerInfo is the key in a result's _meta under which a server names its
// software, an Implementation.
const MetaServerInfo = "io.modelcontextprotocol/serverInfo"

// Meta is a request's metadata: params._meta.
//
// Spec: MCP 2026-07-28, Base Protocol, _meta.
type Meta struct {
	ProtocolVersion string
	Capabilities    ClientCapabilities
	ProgressToken   jsontext.Value // a string or integer; nil when no progress is wanted
	LogLevel        LogLevel       // of log messages from which on they are wanted; 0 when none are

	present, hasVersion, hasCapabilities bool
	bareVersion                          jsontext.Value // the contract profile's protocolVersion
	fault                                *jsonrpc.Error // the first member of the wrong shape
}

func (m *Meta) read(r *strictjson.Reader) error {
	isObject, err := r.Object(func(name []byte) error { return m.member(name, r) })
	m.present = isObject
	return err
}

func (m *Meta) member(name []byte, r *strictjson.Reader) error {
	switch string(name) {
	case metaProtocolVersion:
		version, isString, err := r.Bytes()
		m.ProtocolVersion, m.hasVersion = Version, true
		if string(version) != Version { // the one that is served costs no copy
			m.ProtocolVersion = string(version)
		}
		m.require(isString, metaProtocolVersion, "a string")
		return err
	case "protocolVersion":
		value, err := r.Value()
		m.bareVersion = value
		return err
	case metaClientCapabilities:
		m.hasCapabilities = true
		ok, err := m.Capabilities.read(r)
		m.require(ok, metaClientCapabilities, "an object whose capabilities are objects")
		return err
	case metaClientInfo:
		ok, err := readImplementation(r)
		m.require(ok, metaClientInfo, "an object with the strings name and version")
		return err
	case metaProgressToken:
		value, err := r.Value()
		if err != nil {
			return err
		}
		_, ok := jsonrpc.ParseID(value)
		m.require(ok, metaProgressToken, "a string or an integer")
		if ok {
			m.ProgressToken = value
		}
		return nil
	case metaLogLevel:
		return m.readLogLevel(r)
	}
	_, err := r.Value()
	return err
}

func (m *Meta) readLogLevel(r *strictjson.Reader) error {
	name, _, err := r.Bytes()
	if m.LogLevel = parseLogLevel(name); m.LogLevel == 0 {
		m.require(false, metaLogLevel, "one of "+strings.Join(logLevels()[LogDebug:], ", "))
	}
	return err
}

func (m *Meta) require(ok bool, key, shape string) {
	if !ok && m.fault == nil {
		m.fault = InvalidParams("_meta[%q] must be %s", key, shape)
	}
}

// readImplementation checks a clientInfo, which is never used for anything.
func readImplementation(r *strictjson.Reader) (ok bool, err error) {
	var name, version bool
	_, err = r.Object(func(key []byte) error {
		switch string(key) {
		case "name":
			name = r.Kind() == '"'
		case "version":
			version = r.Kind() == '"'
		}
		_, err := r.Value()
		return err
	})
	return name && version, err
}

// Names of client capabilities, and of the sub-capabilities that some have.
const (
	capabilityElicitation = "elicitation"
	capabilitySampling    = "sampling"
	capabilityRoots       = "roots"

	modeForm  = "form"  // of elicitation
	modeURL   = "url"   // of elicitation
	modeTools = "tools" // of sampling
)

// ClientCapabilities says what a client declares it can do, for one request.
// Capabilities and sub-capabilities that the specification does not define are
// ignored.
//
// Spec: schema, ClientCapabilities.
type ClientCapabilities struct {
	ElicitationForm bool
	ElicitationURL  bool
	Sampling        bool
	SamplingTools   bool
	Roots           bool
	Tasks           bool // the tasks extension
}

func (c *ClientCapabilities) read(r *strictjson.Reader) (ok bool, err error) {
	ok = true
	isObject, err := r.Object(func(name []byte) (err error) {
		var declared bool
		switch string(name) {
		case capabilityElicitation:
			declared, err = c.readElicitation(r)
		case capabilitySampling:
			declared, err = c.readSampling(r)
		case capabilityRoots:
			declared, err = readDeclared(r)
			c.Roots = declared
		case "extensions":
			declared, err = c.readExtensions(r)
		case "experimental":
			declared, err = readDeclared(r)
		default:
			declared = true
			_, err = r.Value()
		}
		ok = ok && declared
		return err
	})
	return ok && isObject, err
}

// readElicitation reads the modes of elicitation; naming none means form.
//
// Spec: Elicitation, Capabilities.
func (c *ClientCapabilities) readElicitation(r *strictjson.Reader) (ok bool, err error) {
	ok = true
	isObject, err := r.Object(func(name []byte) (err error) {
		declared := true
		switch string(name) {
		case modeForm:
			declared, err = readDeclared(r)
			c.ElicitationForm = declared
		case modeURL:
			declared, err = readDeclared(r)
			c.ElicitationURL = declared
		default:
			_, err = r.Value()
		}
		ok = ok && declared
		return err
	})
	ok = ok && isObject
	c.ElicitationForm = c.ElicitationForm || ok && !c.ElicitationURL
	return ok, err
}

func (c *ClientCapabilities) readSampling(r *strictjson.Reader) (ok bool, err error) {
	ok = true
	isObject, err := r.Object(func(name []byte) (err error) {
		if string(name) != modeTools {
			_, err = r.Value()
			return err
		}
		ok, err = readDeclared(r)
		c.SamplingTools = ok
		return err
	})
	c.Sampling = ok && isObject
	return c.Sampling, err
}

func (c *ClientCapabilities) readExtensions(r *strictjson.Reader) (ok bool, err error) {
	ok = true
	isObject, err := r.Object(func(name []byte) (err error) {
		if string(name) != ExtensionTasks {
			_, err = r.Value()
			return err
		}
		ok, err = readDeclared(r)
		c.Tasks = ok
		return err
	})
	return ok && isObject, err
}

// readDeclared reads a capability's settings: any object declares it.
func readDeclared(r *strictjson.Reader) (declared bool, err error) {
	declared = r.Kind() == '{'
	_, err = r.Value()
	return declared, err
}

// ValidateMeta checks the metadata that the strict profile requires on every
// request. Nothing missing is ever taken from an earlier request.
func (r *Request) ValidateMeta() *jsonrpc.Error {
	m := &r.Meta
	switch {
	case !m.present:
		return missingMeta("_meta")
	case m.fault != nil:
		return m.fault
	case !m.hasVersion:
		return missingMeta(metaProtocolVersion)
	case !m.hasCapabilities:
		return missingMeta(metaClientCapabilities)
	}
	return nil
}

func missingMeta(key string) *jsonrpc.Error {
	return InvalidParams("%s is missing; every request carries its protocol version and client capabilities in params._meta", key)
}

// ValidateVersion checks that the request is of a revision that is served. In
// the contract profile the version is optional and may stand in the _meta of
// the request or of params.
//
// Spec: Versioning, Protocol Version Negotiation.
func (r *Request) ValidateVersion() *jsonrpc.Error {
	if r.Profile == Strict {
		if r.Meta.ProtocolVersion != Version {
			return UnsupportedVersion(r.Meta.ProtocolVersion)
		}
		return nil
	}
	if r.Meta.hasVersion && r.Meta.ProtocolVersion != Version ||
		!isVersion(r.Meta.bareVersion) || !isVersion(r.envelopeVersion) {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
			"Invalid request: unsupported protocol version in _meta.protocolVersion, supported is %q", Version)
	}
	return nil
}

func isVersion(raw jsontext.Value) bool {
	text, _ := Text(raw)
	return len(raw) == 0 || text == Version
}
