package bus

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// What would be headers elsewhere rides in a trailer here: NATS headers cost a
// fifth of a short call, a line behind the body nearly nothing, and the subjects
// of calls stay the same, which NATS servers remember. A request's trailer names
// the attempt and has its terms; a reply's, its frame. The bodies are JSON-RPC
// messages as they are.

// maxTrailer bounds the bytes of a trailer.
const maxTrailer = 128

// openTrailer appends what comes before the terms or the frame.
func openTrailer(dst []byte, attempt uint64) []byte {
	dst = append(dst, '\n')
	dst = strconv.AppendUint(dst, attempt, attemptBase)
	return append(dst, ' ')
}

// messages has buffers for what is published, which NATS copies.
var messages = sync.Pool{New: func() any { return new([]byte) }}

// keptMessage is the size of the largest buffer that is kept.
const keptMessage = 1 << 20

// newMessage returns a message of a body and a trailer, for the terms or the frame
// to be appended to. recycle must follow.
func newMessage(body []byte, attempt uint64) *[]byte {
	m := messages.Get().(*[]byte)
	*m = append(slices.Grow((*m)[:0], len(body)+maxTrailer), body...)
	*m = openTrailer(*m, attempt)
	return m
}

func recycle(m *[]byte) {
	if cap(*m) <= keptMessage {
		messages.Put(m)
	}
}

// attemptBase is the base that attempts are counted in on the wire.
const attemptBase = 36

// cutTrailer splits a message into its body and what is in its trailer.
func cutTrailer(message []byte) (body []byte, attempt uint64, token []byte, ok bool) {
	end := bytes.LastIndexByte(message, '\n')
	if end < 0 || len(message)-end > maxTrailer {
		return nil, 0, nil, false
	}
	number, token, _ := bytes.Cut(message[end+1:], space)
	attempt, err := strconv.ParseUint(string(number), attemptBase, 64)
	return message[:end:end], attempt, token, err == nil
}

// What is between the parts of a trailer and of its token.
var space, dash = []byte(" "), []byte("-")

// terms say how a request is to be run. Times are on the clock of the worker
// that it is sent to, as the worker's adverts show it.
type terms struct {
	profile  mcp.Profile
	again    bool      // it may have run before: start it only if that does no harm
	mirrored bool      // of the strict profile: Mcp-Param-* headers have to agree with the arguments
	startBy  time.Time // refuse the request when it arrives later: nobody waits for it
	deadline time.Time // the work's context ends
}

const (
	strictTerms   = 's'
	mirroredTerms = 'h'
	contractTerms = 'c'
)

// append appends the token P-START-END: the profile's letter, a capital for a
// request that may have run before, and two times in Unix milliseconds.
func (t terms) append(dst []byte) []byte {
	letter := byte(strictTerms)
	switch {
	case t.profile == mcp.Contract:
		letter = contractTerms
	case t.mirrored:
		letter = mirroredTerms
	}
	if t.again {
		letter -= 'a' - 'A'
	}
	dst = append(dst, letter, '-')
	dst = strconv.AppendInt(dst, t.startBy.UnixMilli(), 10)
	dst = append(dst, '-')
	return strconv.AppendInt(dst, t.deadline.UnixMilli(), 10)
}

func parseTerms(token []byte) (t terms, ok bool) {
	letter, times, _ := bytes.Cut(token, dash)
	start, end, _ := bytes.Cut(times, dash)
	startMs, err1 := strconv.ParseInt(string(start), 10, 64)
	endMs, err2 := strconv.ParseInt(string(end), 10, 64)
	if len(letter) != 1 {
		return terms{}, false
	}
	c := letter[0]
	if t.again = c < 'a'; t.again {
		c += 'a' - 'A'
	}
	switch c {
	case strictTerms:
		t.profile = mcp.Strict
	case mirroredTerms:
		t.profile, t.mirrored = mcp.Strict, true
	case contractTerms:
		t.profile = mcp.Contract
	default:
		return terms{}, false
	}
	t.startBy, t.deadline = time.UnixMilli(startMs), time.UnixMilli(endMs)
	return t, err1 == nil && err2 == nil
}

// A frameKind says what a reply is. Its letter is part of the wire protocol.
type frameKind byte

const (
	frameAccept       frameKind = 'a' // the call runs, and has for acceptAfter
	frameNotification frameKind = 'n' // the body is a notification for the response stream
	frameResult       frameKind = 'r' // the body is the response; the last frame
	frameBusy         frameKind = 'b' // not started: no free slot
	frameDrain        frameKind = 'd' // not started: the worker is shutting down
	frameRefused      frameKind = 'x' // not started: cancelled before, or arrived after its start-by
	frameOnce         frameKind = 'o' // not started: it may have run before, and must not run twice
	frameUnknown      frameKind = 'u' // not started, and will not be: it has not come before it was asked for
	frameMislaid      frameKind = 'm' // not started: it was not in the store, or not as it was put there
	frameForgotten    frameKind = 'f' // it may have run: that is too long ago to be known
	framePong         frameKind = 'p' // the worker is there
)

// What the ingress itself finds out stands among the replies of an attempt like
// a frame, but has no letter on the wire.
const (
	frameNoResponders frameKind = iota // NATS: no subscription takes the request, so it was not started
	frameLost                          // the worker is gone, or answers nothing any more
	frameLate                          // the deadline has passed
)

// numbered tells whether frames of this kind have a place among the replies of an
// attempt. The others end it whenever they come.
func (k frameKind) numbered() bool {
	switch k {
	case frameNoResponders, frameLost, frameLate, frameUnknown, frameForgotten:
		return false
	}
	return true
}

// settles tells whether a frame of this kind is the last thing that can come to the
// inbox of its request.
func (k frameKind) settles() bool {
	switch k {
	case frameResult, frameBusy, frameDrain, frameRefused, frameOnce, frameMislaid, frameNoResponders:
		return true
	}
	return false
}

// ofRunning tells whether only a call that was started has such replies.
func (k frameKind) ofRunning() bool {
	return k == frameAccept || k == frameNotification || k == frameResult
}

// A frame is the token of a reply's trailer.
type frame struct {
	kind   frameKind
	number int // of the replies to one request, from 1: their order
	free   int // the worker's free slots
	code   int // of a result: the error's code, 0 for success
}

// append appends the token K-NUMBER-FREE or, for an error, K-NUMBER-FREE-CODE.
func (f frame) append(dst []byte) []byte {
	dst = append(dst, byte(f.kind), '-')
	dst = strconv.AppendInt(dst, int64(f.number), 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, int64(f.free), 10)
	if f.code != 0 {
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, int64(f.code), 10)
	}
	return dst
}

func parseFrame(token []byte) (f frame, ok bool) {
	kind, rest, _ := bytes.Cut(token, dash)
	number, rest, _ := bytes.Cut(rest, dash)
	free, code, hasCode := bytes.Cut(rest, dash)
	if len(kind) != 1 {
		return frame{}, false
	}
	f.kind = frameKind(kind[0])
	var err1, err2, err3 error
	f.number, err1 = strconv.Atoi(string(number))
	f.free, err2 = strconv.Atoi(string(free))
	if hasCode {
		f.code, err3 = strconv.Atoi(string(code))
	}
	valid := err1 == nil && err2 == nil && err3 == nil && f.number > 0 && f.free >= 0
	switch f.kind {
	case frameAccept, frameNotification, frameResult, frameBusy, frameDrain, frameRefused, frameOnce, frameUnknown, frameMislaid, frameForgotten, framePong:
		return f, valid
	}
	return frame{}, false
}

// maxReply bounds the reply subjects that a worker takes, in bytes. They leave
// room for a frame in a protocol line of NATS, which closes the connection of
// who sends a longer one.
const maxReply = 512

// isReplySubject tells whether replies to subject go to an ingress of realm.
func isReplySubject(realm, subject string) bool {
	return strings.HasPrefix(subject, Protocol+"."+realm+".r.")
}

// parseReplySubject returns what a worker has to know of a request's reply
// subject: the ingress, and what all reply subjects of its connection begin with.
func parseReplySubject(realm, subject string) (ingress, prefix string, ok bool) {
	rest, ok := strings.CutPrefix(subject, Protocol+"."+realm+".r.")
	ingress, rest, found := strings.Cut(rest, ".")
	_, rest, hasMore := strings.Cut(rest, ".")
	return ingress, subject[:len(subject)-len(rest)], ok && found && hasMore
}

// parseReply takes a reply apart.
func parseReply(message []byte) (attempt uint64, r reply, ok bool) {
	body, attempt, token, ok := cutTrailer(message)
	if !ok {
		return 0, reply{}, false
	}
	r.body = body
	r.frame, ok = parseFrame(token)
	return attempt, r, ok
}
