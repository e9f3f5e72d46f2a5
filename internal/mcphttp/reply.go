package mcphttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

// countedByServer is the size of bodies that net/http counts itself, at less cost
// than a header that it is given.
const countedByServer = 2048

// contentJSON is the Content-Type of JSON. Nobody changes it.
var contentJSON = []string{typeJSON}

// A reply writes the answer to one POST. It is not safe for concurrent use.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // for each write

	status, code int // what was answered
}

// refuse answers a request whose id, if it could be read, is id.
func (o *reply) refuse(id jsonrpc.ID, no *refusal) {
	if no.status == http.StatusMethodNotAllowed {
		o.w.Header().Set("Allow", http.MethodPost)
	}
	if no.err == nil {
		o.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		o.write(no.status, []byte(no.hint))
		return
	}
	o.json(no.status, mcp.ErrorResponse(id, no.err))
}

// json answers with res alone.
func (o *reply) json(status int, res *mcp.Response) {
	header := o.w.Header()
	header["Content-Type"] = contentJSON
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		header.Set("Retry-After", retryAfter(res.RetryAfter))
	}
	o.code = res.Code
	o.write(status, res.Body)
}

// write answers with body as a whole. A client that is gone does not mind that
// it cannot be written.
func (o *reply) write(status int, body []byte) {
	if len(body) > countedByServer {
		o.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	o.setDeadline()
	o.begin(status)
	_, _ = o.w.Write(body)
}

// begin writes the header.
func (o *reply) begin(status int) {
	o.status = status
	o.w.WriteHeader(status)
}

// setDeadline limits the write that follows. net/http lifts the deadline after
// the response; where there are no deadlines, there is no slow client.
func (o *reply) setDeadline() { _ = o.control.SetWriteDeadline(time.Now().Add(o.timeout)) }
