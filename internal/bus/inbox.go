package bus

import (
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
)

const (
	// maxInboxes is how many requests have an inbox at the same time.
	maxInboxes = 1024
	// inboxRoom is how many replies an inbox holds: there is one, but for those
	// that are sent again because they seem to be lost.
	inboxRoom = 4
)

// An inbox takes last replies.
type inbox struct {
	subject string
	replies chan *nats.Msg
	sub     *nats.Subscription
}

// The inboxes of an ingress are where the last replies to small requests come in.
// Each is a subject that one request has after the other, with a subscription of
// its own: NATS servers know the way to it, and nothing is between the connection
// and the goroutine that waits. One whose last request may still be answered is
// never used again, since what the NATS server itself says of a request names the
// subject only. They are safe for concurrent use.
type inboxes struct {
	link link

	mu    sync.Mutex // guards what follows
	free  []*inbox
	inUse int
	last  uint64 // number of the inbox that was made last
}

// take returns an inbox for one request; nil if there are too many of them, or
// there is no subscription to be had. One of give and drop must follow.
func (i *inboxes) take() *inbox {
	b, number := i.reserve()
	if b != nil || number == 0 {
		return b
	}
	b, err := i.open(number)
	if err != nil { // the connection is closed
		i.drop(b)
		return nil
	}
	return b
}

// reserve returns a free inbox or, if there is room for another, its number.
func (i *inboxes) reserve() (b *inbox, number uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inUse >= maxInboxes {
		return nil, 0
	}
	i.inUse++
	if n := len(i.free); n > 0 {
		b = i.free[n-1]
		i.free = i.free[:n-1]
		return b, 0
	}
	i.last++
	return nil, i.last
}

func (i *inboxes) open(number uint64) (*inbox, error) {
	b := &inbox{
		subject: i.link.prefix + inboxesToken + strconv.FormatUint(number, attemptBase),
		replies: make(chan *nats.Msg, inboxRoom),
	}
	var err error
	b.sub, err = i.link.conn.ChanSubscribe(b.subject, b.replies)
	return b, err
}

// give gives back an inbox of which the request has been answered.
func (i *inboxes) give(b *inbox) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inUse--
	i.free = append(i.free, b)
}

// drop gives up an inbox that may still get something for its request.
func (i *inboxes) drop(b *inbox) {
	i.mu.Lock()
	i.inUse--
	i.mu.Unlock()
	if b.sub != nil {
		_ = b.sub.Unsubscribe() // fails only when the connection is closed
	}
}

// close ends the subscriptions of all inboxes that are not in use.
func (i *inboxes) close() {
	i.mu.Lock()
	free := i.free
	i.free = nil
	i.mu.Unlock()
	for _, b := range free {
		_ = b.sub.Unsubscribe() // fails only when the connection is closed
	}
}
