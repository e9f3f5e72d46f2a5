package mcpstdio

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestLineEnds(t *testing.T) {
	for name, input := range map[string]string{
		"newline":       request("1") + "\n",
		"CRLF":          request("1") + "\r\n",
		"end of input":  request("1"),
		"empty lines":   "\n\n \t\n\r\n" + request("1") + "\n\n",
		"blank, no end": request("1") + "\n  ",
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, []string{response("1")}, answers(t, okay, Config{}, input))
		})
	}
	assert.Empty(t, answers(t, okay, Config{}, ""))
}

func TestLongLinesAreSkipped(t *testing.T) {
	const limit = 200 << 10
	fill := func(size int) string { return request("1") + strings.Repeat(" ", size-len(request("1"))) }
	for _, size := range []int{limit - 1, limit, limit + 1, 3 * limit} {
		for _, end := range []string{"\n" + request("2") + "\n", ""} {
			t.Run(fmt.Sprintf("%d%q", size, end), func(t *testing.T) {
				out := answers(t, okay, Config{MaxLine: limit}, fill(size)+end)
				if size <= limit {
					assert.Contains(t, out, response("1"))
				} else {
					assertError(t, out[0], mcp.CodeMessageTooLarge, "")
					assert.JSONEq(t, `{"limitBytes":204800}`, string(parse(t, out[0]).Error.Data))
				}
				if end == "" {
					assert.Len(t, out, 1)
				} else {
					assert.Len(t, out, 2)
					assert.Contains(t, out, response("2"))
				}
			})
		}
	}
}

// endless is a line of n bytes.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.n)
	e.n -= n
	for i := range p[:n] {
		p[i] = 'x'
	}
	return int(n), nil
}

func TestLongLinesCostNoMemory(t *testing.T) {
	r := newLineReader(&endless{n: 100 << 20}, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.next()
	runtime.ReadMemStats(&after)
	assert.ErrorIs(t, err, errTooLong)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10<<20), "what a slice that grows to 1 MiB takes in all")
}
