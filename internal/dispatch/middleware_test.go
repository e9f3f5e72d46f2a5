package dispatch_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/dispatch"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestLog(t *testing.T) {
	for name, test := range map[string]struct {
		request  string
		want     []string
		withheld string
	}{
		"tool": {
			strictRequest(`"r7"`, "tools/call", `"name":"echo","arguments":{"text":"secret"}`),
			[]string{`"level":"DEBUG","msg":"request","request_id":"\"r7\"","method":"tools/call","code":0,"duration":`, `,"tool":"echo"`}, "secret",
		},
		"unknown tool": {
			strictRequest(`1`, "tools/call", `"name":"secret"`), []string{`"level":"DEBUG"`, `"code":-32602`}, "secret",
		},
		"prompt": {
			strictRequest(`1`, "prompts/get", `"name":"greet","arguments":{"name":"secret"}`), []string{`"code":0`, `,"prompt":"greet"`}, "secret",
		},
		"resource": {
			strictRequest(`1`, "resources/read", `"uri":"mem://secret"`), []string{`"method":"resources/read","code":-32602`}, "secret",
		},
		"internal error": {
			strictRequest(`1`, "prompts/get", `"name":"broken"`), []string{`"level":"WARN"`, `"code":-32603`, `,"prompt":"broken"`}, "secret",
		},
		"long id and method": {
			strictRequest(`"`+strings.Repeat("i", 5000)+`"`, strings.Repeat("m", 5000), `"name":""`), []string{`iii…"`, `mmm…"`}, strings.Repeat("i", 200),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			log := slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
			h := mcp.Chain(newDispatcher(t, fixture()), dispatch.Log(log))
			handle(t, h, mcp.Strict, test.request)
			require.Equal(t, 1, strings.Count(buf.String(), "\n"))
			for _, want := range test.want {
				assert.Contains(t, buf.String(), want)
			}
			assert.NotContains(t, buf.String(), test.withheld)
		})
	}
}

// A handler that is no Dispatcher gets lines without names.
func TestLogOfAnotherHandler(t *testing.T) {
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := mcp.Chain(mcp.HandlerFunc(func(context.Context, *mcp.Request, mcp.NotifyFunc) *mcp.Response {
		return &mcp.Response{}
	}), dispatch.Log(log))
	handle(t, h, mcp.Strict, strictRequest(`1`, "tools/call", `"name":"echo"`))
	assert.Contains(t, buf.String(), "method=tools/call")
	assert.NotContains(t, buf.String(), "echo")
}
