package dispatch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// BenchmarkToolCall is a whole call of a tool that returns its argument, with
// validation and without parsing the envelope.
func BenchmarkToolCall(b *testing.B) {
	for name, size := range map[string]int{"32B": 32, "64KiB": 64 << 10} {
		for _, profile := range []mcp.Profile{mcp.Strict, mcp.Contract} {
			b.Run(profile.String()+"/"+name, func(b *testing.B) {
				d := newDispatcher(b, fixture())
				req := parse(b, profile, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+
					strings.Repeat("x", size)+`"},`+strictMeta+`}}`)
				notify := func([]byte) {}
				require.Zero(b, d.Handle(b.Context(), req, notify).Code)
				b.ReportAllocs()
				b.SetBytes(int64(size))
				for b.Loop() {
					d.Handle(b.Context(), req, notify)
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
