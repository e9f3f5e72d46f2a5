package mcp_test

import (
	"encoding/json"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// notified returns a call with the given progress token, and what it has sent.
func notified(t *testing.T, token string) (call *mcp.Call, sent *[]string) {
	t.Helper()
	sent = new([]string)
	call, err := mcp.NewCall(parseMeta(t, `{"progressToken":`+token+`}`), mcp.CallConfig{Notify: func(n []byte) { *sent = append(*sent, string(n)) }})
	require.Nil(t, err)
	return call, sent
}

func TestProgress(t *testing.T) {
	const opening = `{"jsonrpc":"2.0","method":"notifications/progress","params":`
	call, sent := notified(t, `"tok"`)
	call.Progress(0, 0, "")
	call.Progress(0.5, 2, "half\n")
	call.Progress(2, 2, "bad \xff")
	assert.Equal(t, []string{
		opening + `{"progressToken":"tok","progress":0}}`,
		opening + `{"progressToken":"tok","progress":0.5,"total":2,"message":"half\n"}}`,
		opening + `{"progressToken":"tok","progress":2,"total":2,"message":"bad ` + "\ufffd" + `"}}`,
	}, *sent)

	call, sent = notified(t, `9007199254740993`)
	call.Progress(-1, 0, "")
	assert.Equal(t, []string{opening + `{"progressToken":9007199254740993,"progress":-1}}`}, *sent)
}

func TestProgressOnlyIncreases(t *testing.T) {
	call, sent := notified(t, `1`)
	for _, done := range []float64{1, 1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), -1, 2, 1.5, 2, 3} {
		call.Progress(done, 0, "")
	}
	assert.Equal(t, []float64{1, 2, 3}, progressOf(t, *sent))
}

func TestProgressWithAnImpossibleTotal(t *testing.T) {
	call, sent := notified(t, `1`)
	call.Progress(1, math.NaN(), "")
	call.Progress(1, math.Inf(1), "")
	assert.Empty(t, *sent)
	call.Progress(1, 2, "")
	assert.Equal(t, []float64{1}, progressOf(t, *sent), "what was dropped does not count")
}

func TestProgressIsDropped(t *testing.T) {
	call, sent := notified(t, `1`)
	call.Progress(1, 0, "")
	call.End()
	call.Progress(2, 0, "")
	call.End()
	assert.Equal(t, []float64{1}, progressOf(t, *sent), "after the end")

	call, sent = notified(t, `null`)
	call.Progress(1, 0, "")
	assert.Empty(t, *sent, "without a token")

	call, err := mcp.NewCall(parseMeta(t, `{"progressToken":1}`), mcp.CallConfig{})
	require.Nil(t, err)
	call.Progress(1, 0, "")
}

// However many goroutines report, notifications come one at a time, increase,
// and end with End.
func TestProgressIsConcurrent(t *testing.T) {
	const reporters, reports = 8, 200
	call, sent := notified(t, `1`)
	atEnd := 0
	var wg sync.WaitGroup
	for r := range reporters {
		wg.Go(func() {
			for i := range reports {
				call.Progress(float64(i*reporters+r), 0, "")
				if r == 0 && i == reports/2 {
					call.End()
					atEnd = len(*sent)
				}
			}
		})
	}
	wg.Wait()
	assert.Len(t, *sent, atEnd)
	values := progressOf(t, *sent)
	require.NotEmpty(t, values)
	for i := 1; i < len(values); i++ {
		require.Greater(t, values[i], values[i-1])
	}
}

// End returns only once a notification on its way has been taken.
func TestEndWaitsForNotify(t *testing.T) {
	entered, leave, taken := make(chan struct{}), make(chan struct{}), false
	call, err := mcp.NewCall(parseMeta(t, `{"progressToken":1}`), mcp.CallConfig{Notify: func([]byte) {
		close(entered)
		<-leave
		taken = true
	}})
	require.Nil(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { call.Progress(1, 0, "") })
	<-entered
	wg.Go(func() {
		call.End()
		assert.True(t, taken)
	})
	close(leave)
	wg.Wait()
}

func progressOf(t *testing.T, notifications []string) (values []float64) {
	t.Helper()
	for _, n := range notifications {
		var message struct {
			Params struct {
				Progress float64 `json:"progress"`
			} `json:"params"`
		}
		require.NoError(t, json.Unmarshal([]byte(n), &message))
		values = append(values, message.Params.Progress)
	}
	return values
}
