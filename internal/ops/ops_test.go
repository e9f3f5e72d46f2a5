package ops_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

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
		{"GET", "/readyz", ops.Status{Ready: true, Counters: map[string]int64{"n": 1}}, 200, `{"ready":true,"counters":{"n":1}}`},
		{"GET", "/readyz", ops.Status{Reason: "stopping"}, 503, `{"ready":false,"reason":"stopping"}`},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		ops.NewServer(func() ops.Status { return tt.status }).Handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		assert.Equal(t, tt.code, w.Code, tt.path)
		assert.JSONEq(t, tt.body, w.Body.String(), tt.path)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	for path, code := range map[string]int{"/": http.StatusNotFound, "/mcp": http.StatusNotFound} {
		w := httptest.NewRecorder()
		ops.NewServer(func() ops.Status { return ops.Status{} }).Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		assert.Equal(t, code, w.Code, path)
	}
}
