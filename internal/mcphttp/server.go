package mcphttp

import (
	"net/http"
	"time"
)

// NewServer returns a server with the limits that h, a Handler or what wraps
// one, does not set itself: on the time and size of headers and on idle
// connections. It has no limit on the time of a response, as a tool call and a
// response stream may be long; a Handler limits each read of a body and each
// write instead.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
