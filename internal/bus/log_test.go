package bus_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
)

// logRecords are the lines of a log.
type logRecords struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func recordLog(t *testing.T) (*slog.Logger, *logRecords) {
	t.Helper()
	r := &logRecords{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(r.all())
		}
	})
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug})), r
}

// Write takes a line.
func (r *logRecords) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *logRecords) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSpace(r.buf.String()), "\n")
}

// count is the number of lines that have text.
func (r *logRecords) count(text string) (n int) {
	for _, record := range r.all() {
		if strings.Contains(record, text) {
			n++
		}
	}
	return n
}

func (r *logRecords) waitFor(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return r.count(text) > 0 }, bustest.Patience, 10*time.Millisecond)
}
