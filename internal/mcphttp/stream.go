package mcphttp

import (
	"net/http"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A stream is the reply to a request that a handler is at work on. It is JSON
// if the response is the first thing that comes, and server-sent events from
// the first notification or the first long silence on. Its methods may be
// called concurrently; after end nothing is written.
//
// Spec: MCP 2026-07-28, Streamable HTTP, Receiving Messages.
type stream struct {
	silence time.Duration // after which a comment is sent

	mu     sync.Mutex // guards what follows, and keeps events apart
	reply  *reply
	opened bool        // events have begun
	over   bool        // no more events
	timer  *time.Timer // nil for a client that takes no events
}

// start begins to watch for silence.
func (s *stream) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(s.silence, s.keepAlive)
}

// notify sends one notification.
func (s *stream) notify(notification []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(event(notification))
}

// keepAlive sends a comment, which clients and proxies take as a sign of life.
// While something else is being written there is no silence to fill, and its
// end starts the next one.
func (s *stream) keepAlive() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	s.send([]byte(":\n\n"))
}

// finish answers with res, and is the last to write anything.
func (s *stream) finish(res *mcp.Response, accept accepted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	status := statusOf(res.Code)
	if !s.opened && (accept.json || status != http.StatusOK) {
		s.reply.json(status, res)
		return
	}
	s.reply.code = res.Code
	s.open()
	s.reply.setDeadline()
	_, _ = s.reply.w.Write(event(res.Body)) // net/http flushes it with the end of the stream
}

// abandon ends a request that nobody waits for. The status keeps what may sit
// between, and a client that has only closed its half of the connection, from taking
// an empty body for success, or the request for one that was not started.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if !s.opened {
		s.reply.write(http.StatusGatewayTimeout, nil)
	}
}

// end stops everything that start began.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// send writes one event or comment at once. A client that does not take it will
// not take the response either: net/http ends the context of the request when a
// write fails. s.mu is held.
func (s *stream) send(event []byte) {
	if s.over {
		return
	}
	s.open()
	s.reply.setDeadline()
	_, err := s.reply.w.Write(event)
	if err == nil {
		err = s.reply.control.Flush()
	}
	if err != nil {
		s.over = true
		return
	}
	s.timer.Reset(s.silence)
}

// open begins the events. s.mu is held.
func (s *stream) open() {
	if s.opened {
		return
	}
	s.opened = true
	header := s.reply.w.Header()
	header.Set("Content-Type", typeEvents)
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	s.reply.begin(http.StatusOK)
}

// event frames a message, which is compact and so has no line ends.
func event(message []byte) []byte {
	framed := make([]byte, 0, len("data: \n\n")+len(message))
	framed = append(framed, "data: "...)
	framed = append(framed, message...)
	return append(framed, "\n\n"...)
}
