// Package ops is the operators' HTTP server: health and readiness. It shares
// nothing with the endpoint that clients use and belongs on an address that they
// cannot reach.
package ops

import (
	"encoding/json"
	"net/http"
	"time"
)

// A Status is how a process is. It is shown as JSON.
type Status struct {
	Ready    bool             `json:"ready"`
	Reason   string           `json:"reason,omitempty"` // why it is not ready
	Counters map[string]int64 `json:"counters,omitempty"`
}

// NewServer returns a server of
//
//	GET /healthz   200 as long as the process can answer
//	GET /readyz    200 when status is ready and 503 when not, with the status and
//	               what the process uses of its machine
//
// status is called for each request and must be quick.
func NewServer(status func() Status) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]bool{"healthy": true})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := status()
		code := http.StatusOK
		if !s.Ready {
			code = http.StatusServiceUnavailable
		}
		write(w, code, struct {
			Status
			Usage usage `json:"usage"`
		}{s, readUsage()})
	})
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      10 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
}

func write(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // the operator has gone
}
