package mcp_test

import (
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// logged returns a call that wants messages of level, and what it has sent.
func logged(t *testing.T, level string) (call *mcp.Call, sent *[]string) {
	t.Helper()
	sent = new([]string)
	req := parseMeta(t, `{"io.modelcontextprotocol/logLevel":"`+level+`"}`)
	call, err := mcp.NewCall(req, mcp.CallConfig{Logs: true, Notify: func(n []byte) { *sent = append(*sent, string(n)) }})
	require.Nil(t, err)
	return call, sent
}

func TestLog(t *testing.T) {
	call, sent := logged(t, "debug")
	call.Log(mcp.LogInfo, "", "plain\n")
	call.Log(mcp.LogEmergency, "database", map[string]any{"port": 5432})
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"plain\n"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","logger":"database","data":{"port":5432}}}`,
	}, *sent)
}

// Each level lets itself and all that are more severe through.
func TestLogLevels(t *testing.T) {
	names := []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	for i, name := range names {
		call, sent := logged(t, name)
		for level := mcp.LogLevel(-1); level <= mcp.LogEmergency+1; level++ {
			call.Log(level, "", level.String())
		}
		var want []string
		for _, name := range names[i:] {
			want = append(want, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`+name+`","data":"`+name+`"}}`)
		}
		assert.Equal(t, want, *sent, name)
	}
}

func TestLogIsDropped(t *testing.T) {
	call, sent := notified(t, `1`)
	call.Log(mcp.LogEmergency, "", "not asked for")
	assert.Empty(t, *sent)

	call, sent = logged(t, "debug")
	call.Log(mcp.LogError, "", strings.Repeat("x", 16<<10))
	call.Log(mcp.LogError, "", math.NaN())
	call.End()
	call.Log(mcp.LogError, "", "after the response")
	assert.Empty(t, *sent)

	debug := parseMeta(t, `{"io.modelcontextprotocol/logLevel":"debug"}`)
	call, err := mcp.NewCall(debug, mcp.CallConfig{Notify: func(n []byte) { *sent = append(*sent, string(n)) }})
	require.Nil(t, err)
	call.Log(mcp.LogError, "", "of a server that did not declare it")
	assert.Empty(t, *sent)

	call, err = mcp.NewCall(debug, mcp.CallConfig{Logs: true})
	require.Nil(t, err)
	call.Log(mcp.LogError, "", "nobody listens")
}

func TestLogRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call, sent := logged(t, "debug")
		for range 1000 {
			call.Log(mcp.LogInfo, "", "x")
		}
		assert.Len(t, *sent, 100)
		time.Sleep(time.Second)
		call.Log(mcp.LogInfo, "", "x")
		assert.Len(t, *sent, 101)
	})
}

func TestLogConcurrently(t *testing.T) {
	call, sent := logged(t, "debug")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { call.Log(mcp.LogInfo, "", "x") })
	}
	wg.Wait()
	assert.Len(t, *sent, 20)
}

func TestLogLevelOfARequest(t *testing.T) {
	for value, want := range map[string]string{
		`"info"`: "", `"INFO"`: "is not", `""`: "is not", `7`: "is not", `null`: "is not", `"verbose"`: "is not", `{}`: "is not",
	} {
		req := parseMeta(t, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
			`"io.modelcontextprotocol/logLevel":`+value+`}`)
		err := req.ValidateMeta()
		if want == "" {
			assert.Nil(t, err)
			assert.Equal(t, mcp.LogInfo, req.Meta.LogLevel)
			continue
		}
		require.NotNil(t, err, value)
		assert.Equal(t, -32602, err.Code)
		assert.Contains(t, err.Message, `_meta["io.modelcontextprotocol/logLevel"] must be one of debug, info, notice`)
		assert.Zero(t, req.Meta.LogLevel)
	}
}
