package mcphttp

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
	"github.com/mcpyard/mcpyard/internal/mcp"
)

const (
	firstBuffer = 4 << 10   // bytes; most requests are smaller
	keptBuffer  = 256 << 10 // bytes; larger buffers are left to the garbage collector
	// trust is how much larger than what a client has sent a buffer may be because
	// of what it has promised to send.
	trust = 16
)

var buffers = sync.Pool{New: func() any {
	buf := make([]byte, 0, firstBuffer)
	return &buf
}}

func release(buf *[]byte) {
	if cap(*buf) <= keptBuffer {
		buffers.Put(buf)
	}
}

var (
	errTooLarge = errors.New("body larger than the limit")
	errNoMemory = errors.New("other bodies take all memory")
)

// maxBody is the size of the largest body that is of use now.
func (h *Handler) maxBody() int64 {
	if h.cfg.MaxRequest == nil {
		return h.cfg.MaxBody
	}
	return min(h.cfg.MaxBody, cmp.Or(h.cfg.MaxRequest(), h.cfg.MaxBody))
}

// readBody appends the body of r to buf.
func (h *Handler) readBody(r *http.Request, buf []byte, claimed *claim) ([]byte, *refusal) {
	limit := h.maxBody()
	if r.ContentLength > limit {
		return buf, refuseWith(mcp.MessageTooLarge("request", limit))
	}
	body, err := readAtMost(r.Body, buf, r.ContentLength, limit, claimed)
	switch {
	case errors.Is(err, errTooLarge):
		return body, refuseWith(mcp.MessageTooLarge("request", limit))
	case errors.Is(err, errNoMemory):
		return body, refuseWith(mcp.Overloaded(memoryRetry))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return body, refuse(http.StatusRequestTimeout, "the body took too long")
	case err != nil:
		return body, refuseWith(jsonrpc.Errorf(jsonrpc.CodeParseError, "Parse error: the body could not be read to its end"))
	}
	return body, nil
}

// readAtMost appends what r has to buf, which must be empty. It holds one byte
// more than limit at most, and never much more than the client has sent: the
// Content-Length, -1 if there is none, is a promise, and costs nothing to make.
func readAtMost(r io.Reader, buf []byte, promised, limit int64, claimed *claim) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			size := nextSize(cap(buf), promised, limit)
			if !claimed.raise(size) {
				return buf, errNoMemory
			}
			buf = append(make([]byte, 0, size), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return buf, errTooLarge
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// nextSize is that of the buffer that follows one of size bytes.
func nextSize(size int, promised, limit int64) int64 {
	return min(max(2*int64(size), firstBuffer, min(trust*int64(size), promised+1)), limit+1)
}
