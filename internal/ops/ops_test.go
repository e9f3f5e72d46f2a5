package ops_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/ops"
)

func TestEndpoints(t *testing.T) {
	tests := []struct {
		method, path string
		status       ops.Status
		code         int
		body         string
	}{
		{"GET", "/healthz", ops.Status{}, 200, `{"healthy":true}`},
		{"GET", "/readyz", ops.Status{Ready: true, Counters: map[string]int64{"n": 1}}, 200, `{"ready":true,"counters":{"n":1},"usage":{}}`},
		{"GET", "/readyz", ops.Status{Reason: "stopping"}, 503, `{"ready":false,"reason":"stopping","usage":{}}`},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		ops.NewServer(func() ops.Status { return tt.status }).Handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		assert.Equal(t, tt.code, w.Code, tt.path)
		assert.JSONEq(t, tt.body, usages.ReplaceAllString(w.Body.String(), `"usage":{}`), tt.path)
	}
}

// usages is what differs each time.
var usages = regexp.MustCompile(`"usage":\{[^}]*\}`)

func TestUsage(t *testing.T) {
	runtime.GC() // there is no live heap before the first one
	w := httptest.NewRecorder()
	handler := ops.NewServer(func() ops.Status { return ops.Status{} }).Handler
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	var body struct {
		Usage struct{ Goroutines, LiveHeapBytes, MemoryBytes uint64 }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	assert.Positive(t, body.Usage.Goroutines)
	assert.Less(t, body.Usage.Goroutines, uint64(1000))
	assert.Positive(t, body.Usage.LiveHeapBytes)
	assert.Greater(t, body.Usage.MemoryBytes, body.Usage.LiveHeapBytes)
}

func TestNothingElseIsServed(t *testing.T) {
	for path, code := range map[string]int{"/": http.StatusNotFound, "/mcp": http.StatusNotFound} {
		w := httptest.NewRecorder()
		ops.NewServer(func() ops.Status { return ops.Status{} }).Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		assert.Equal(t, code, w.Code, path)
	}
}
