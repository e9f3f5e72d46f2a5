package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A call is one tool call: what is asked for, and what its client saw.
type call struct {
	id        string
	tool      string
	work      time.Duration // how long it takes
	text      string        // what the answer is to be; empty: the id
	kind      string        // tells apart calls of different loads
	principal string        // empty: there are none
	giveUp    time.Duration // when the client goes away; 0: never
	asTask    bool          // the answer is to be a task

	due      time.Time // when it was to be sent
	sent     time.Time // when it was
	answered time.Time // or given up
	outcome  outcome
	unproven bool   // an error that says that the call may have been started
	resent   int    // how often a connection was cut and the call sent again
	flaw     string // what is wrong with the form of the answer
	task     string // the id of the task that the call has become
}

// An outcome is how a call ended for its client: an error's code, or one of these.
type outcome string

const (
	succeeded outcome = ""
	cancelled outcome = "cancelled" // by the client
	cut       outcome = "cut"       // no connection, or it ended before the answer
	silent    outcome = "silent"    // no answer within clientPatience
	wrong     outcome = "wrong"     // a success with another text, or a tool error
)

// Codes that clients may see under faults.
const (
	overloaded       outcome = "-31001"
	noWorkers        outcome = "-31002"
	deadlineExceeded outcome = "-31003"
	outcomeUnknown   outcome = "-31004"
)

func (c *call) failed() bool { return c.outcome != succeeded && c.outcome != cancelled }

// repeatable tells whether the tool may run twice.
func (c *call) repeatable() bool { return c.tool == "read" }

func (c *call) wanted() string {
	if c.text == "" {
		return c.id
	}
	return c.text
}

// delay is how much longer the answer took than the work.
func (c *call) delay() time.Duration {
	d := c.answered.Sub(c.due)
	if c.outcome == succeeded {
		d -= c.work
	}
	return max(0, d)
}

// A mix makes the calls of a load, which it names itself.
type mix func(*rand.Rand) call

// everyday is calls of 2 to 300 ms, half of them of a tool that must not run
// twice.
func everyday(r *rand.Rand) call {
	return call{tool: []string{"read", "write"}[r.IntN(2)], work: between(r, 2*time.Millisecond, 300*time.Millisecond)}
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// body is the JSON-RPC request, as MCP has it.
func (c *call) body() string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,`+
		`"arguments":{"call":%q,"ms":%g,"text":"%s"},%s}}`,
		c.id, c.tool, c.id, float64(c.work)/float64(time.Millisecond), c.wanted(), metadata(c.asTask))
}

// metadata is the member of params that says what the client supports.
func metadata(tasks bool) string {
	extensions := ""
	if tasks {
		extensions = `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	}
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{` + extensions + `}}`
}

// letters returns a text of that size, which JSON writes as it is.
func letters(r *rand.Rand, size int) string {
	var text strings.Builder
	text.Grow(size)
	for word := r.Uint64(); text.Len() < size; word = r.Uint64() {
		fmt.Fprintf(&text, "%016x", word)
	}
	return text.String()[:size]
}
