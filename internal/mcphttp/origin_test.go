package mcphttp

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

func TestHosts(t *testing.T) {
	some := []string{"mcp.example", "other.example:8443", "[fd00::1]"}
	tests := []struct {
		host    string
		allowed []string
		want    bool
	}{
		{"localhost", nil, true},
		{"LocalHost:8080", nil, true},
		{"127.0.0.1", nil, true},
		{"127.0.0.1:1", nil, true},
		{"[::1]", nil, true},
		{"[::1]:8080", nil, true},
		{"", nil, false},
		{"::1", nil, false},
		{"192.168.0.1:8080", nil, false},
		{"0.0.0.0:8080", nil, false},
		{"localhost.evil.example", nil, false},
		{"localhost:80.evil.example", nil, false},
		{"evil.example", nil, false},
		{"mcp.example", some, true},
		{"MCP.example:123", some, true},
		{"x.mcp.example", some, false},
		{"mcp.example:x", some, false},
		{"other.example:8443", some, true},
		{"other.example:8444", some, false},
		{"other.example", some, false},
		{"[fd00::1]:80", some, true},
		{"[fd00::2]:80", some, false},
		{"localhost", some, true},
		{"evil.example", []string{"*"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			r := strictPost()
			r.Host = tt.host
			assertAdmitted(t, Config{AllowedHosts: tt.allowed}, r, tt.want, "-allowed-hosts")
		})
	}
}

func TestOrigins(t *testing.T) {
	some := []string{"https://app.example", "http://app.example:8080"}
	tests := []struct {
		origin  string
		allowed []string
		want    bool
	}{
		{"http://localhost", nil, true},
		{"https://localhost:3000", nil, true},
		{"HTTP://LOCALHOST:3000", nil, true},
		{"http://127.0.0.1:3000", nil, true},
		{"http://[::1]:3000", nil, true},
		{"", nil, false},
		{"null", nil, false},
		{"localhost", nil, false},
		{"ftp://localhost", nil, false},
		{"https://evil.example", nil, false},
		{"http://localhost.evil.example", nil, false},
		{"http://localhost:80@evil.example", nil, false},
		{"http://localhost/evil.example", nil, false},
		{"http://192.168.0.1", nil, false},
		{"https://app.example", some, true},
		{"https://APP.example", some, true},
		{"http://app.example", some, false},
		{"https://app.example:444", some, false},
		{"http://app.example:8080", some, true},
		{"http://localhost:1", some, true},
		{"https://evil.example", []string{"*"}, true},
		{"null", []string{"*"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.origin, func(t *testing.T) {
			r := strictPost()
			r.Header["Origin"] = []string{tt.origin}
			assertAdmitted(t, Config{AllowedOrigins: tt.allowed}, r, tt.want, "-allowed-origins")
		})
	}
	t.Run("two", func(t *testing.T) {
		r := strictPost()
		r.Header["Origin"] = []string{"http://localhost", "https://evil.example"}
		assertAdmitted(t, Config{}, r, false, "-allowed-origins")
	})
}

func assertAdmitted(t *testing.T, cfg Config, r *http.Request, want bool, flag string) {
	t.Helper()
	if want {
		assert.Equal(t, http.StatusOK, do(newHandler(t, okay, cfg), r).Code)
		return
	}
	w := do(newHandler(t, unreachable(t), cfg), r)
	assertError(t, w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, "")
	assert.Contains(t, w.Body.String(), flag)
}

// Whatever passes as a loopback origin is one to a complete URL parser too.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"http://localhost", "https://[::1]:80", "http://127.0.0.1:", "http://localhost:80@x", "http://[::1%25x]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		g := newGuard(Config{})
		if !g.allowsOrigin(origin) {
			return
		}
		u, err := url.Parse(origin)
		if err != nil {
			return // then no browser sends it
		}
		addr, err := netip.ParseAddr(u.Hostname())
		assert.True(t, strings.EqualFold(u.Hostname(), "localhost") || err == nil && addr.IsLoopback(), "%q", origin)
	})
}
