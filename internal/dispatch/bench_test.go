package dispatch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// echoCall returns a whole call of a tool that returns its argument of that size,
// with validation and without parsing the envelope.
func echoCall(t testing.TB, profile mcp.Profile, size int) func() {
	t.Helper()
	d := newDispatcher(t, fixture())
	req := parse(t, profile, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+
		strings.Repeat("x", size)+`"},`+strictMeta+`}}`)
	notify := func([]byte) {}
	require.Zero(t, d.Handle(t.Context(), req, notify).Code)
	return func() { d.Handle(t.Context(), req, notify) }
}

func BenchmarkToolCall(b *testing.B) {
	for name, size := range map[string]int{"32B": 32, "64KiB": 64 << 10} {
		for _, profile := range []mcp.Profile{mcp.Strict, mcp.Contract} {
			b.Run(profile.String()+"/"+name, func(b *testing.B) {
				call := echoCall(b, profile, size)
				b.ReportAllocs()
				b.SetBytes(int64(size))
				for b.Loop() {
					call()
				}
			})
		}
	}
}

func BenchmarkToolsList(b *testing.B) {
	d := newDispatcher(b, fixture())
	req := parse(b, mcp.Strict, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+strictMeta+`}}`)
	b.ReportAllocs()
	for b.Loop() {
		d.Handle(b.Context(), req, func([]byte) {})
	}
}
