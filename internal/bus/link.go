package bus

import (
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// bulkFrom is the size in bytes above which a message travels on the connection
// for large ones, so that it does not hold up small ones.
const bulkFrom = 256 << 10

// The numbers of an ingress's connections, a token of its reply subjects.
const (
	smallToken = "0"
	bulkToken  = "1"
)

// The tokens that follow in its reply subjects.
const (
	attemptsToken = "a." // and an attempt: for any reply to it
	inboxesToken  = "i." // and an inbox: for the last reply to a request
	pongsToken    = "p." // and a worker: for its answers to pings
)

// maxInboxes is how many requests have an inbox at the same time.
const maxInboxes = 1024

// A link is one connection of an ingress: what goes out on it is answered on it,
// except for large replies, which all come on the one for large messages. It is
// safe for concurrent use.
//
// The last reply to a small request comes to an inbox. That is a subject that one
// request has after the other, with a subscription of its own: NATS servers know the
// way to it, and nothing is between the connection and the goroutine that waits. An
// inbox whose last request may still be answered is never used again, since what
// the NATS server itself says of a request names the subject only.
type link struct {
	conn   *Conn
	prefix string // of its reply subjects

	mu    sync.Mutex // guards what follows
	free  []*inbox
	inUse int
	last  uint64 // number of the inbox that was made last
}

// An inbox takes last replies.
type inbox struct {
	subject string
	replies chan *nats.Msg
	sub     *nats.Subscription
}

func newLink(conn *Conn, realm, ingress, token string) *link {
	return &link{conn: conn, prefix: replies(realm, ingress, token)}
}

// attempts is the subject for any reply to an attempt.
func (l *link) attempts(attempt uint64) string { return attemptSubject(l.prefix, attempt) }

func attemptSubject(prefix string, attempt uint64) string {
	return prefix + attemptsToken + strconv.FormatUint(attempt, attemptBase)
}

// take returns an inbox for one request; nil if there are too many of them. One of
// give and drop must follow.
func (l *link) take() *inbox {
	l.mu.Lock()
	if l.inUse >= maxInboxes {
		l.mu.Unlock()
		return nil
	}
	l.inUse++
	if n := len(l.free); n > 0 {
		b := l.free[n-1]
		l.free = l.free[:n-1]
		l.mu.Unlock()
		return b
	}
	l.last++
	number := l.last
	l.mu.Unlock()
	b, err := l.open(number)
	if err != nil {
		l.drop(b)
		return nil
	}
	return b
}

// inboxRoom is how many replies an inbox holds: there is one, but for those that
// are sent again because they seem to be lost.
const inboxRoom = 4

func (l *link) open(number uint64) (*inbox, error) {
	b := &inbox{
		subject: l.prefix + inboxesToken + strconv.FormatUint(number, attemptBase),
		replies: make(chan *nats.Msg, inboxRoom),
	}
	var err error
	b.sub, err = l.conn.ChanSubscribe(b.subject, b.replies)
	return b, err
}

// give gives back an inbox of which the request has been answered.
func (l *link) give(b *inbox) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse--
	l.free = append(l.free, b)
}

// drop gives up an inbox that may still get something for its request.
func (l *link) drop(b *inbox) {
	l.mu.Lock()
	l.inUse--
	l.mu.Unlock()
	if b.sub != nil {
		_ = b.sub.Unsubscribe() // fails only when the connection is closed
	}
}

// close ends the subscriptions of all inboxes that are not in use.
func (l *link) close() {
	l.mu.Lock()
	free := l.free
	l.free = nil
	l.mu.Unlock()
	for _, b := range free {
		_ = b.sub.Unsubscribe() // fails only when the connection is closed
	}
}

// bulkPrefix returns the prefix of an ingress's connection for large messages,
// given that of any of its connections.
func bulkPrefix(realm, prefix string) string {
	ingress, _, _ := strings.Cut(prefix[len(Protocol+"."+realm+".r."):], ".")
	return replies(realm, ingress, bulkToken)
}
