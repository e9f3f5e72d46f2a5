package bus

import (
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// The words on a worker's control subject.
const (
	wordCancel = "cancel" // and keys of attempts that nobody waits for
	wordPing   = "ping"   // and attempts whose replies are missing: see onPing
	wordTempo  = "tempo"  // and the worker's tempo
)

// onControl takes what ingresses say of their attempts. Other words are of a
// later protocol.
func (c *Consumer) onControl(m *nats.Msg) {
	word, rest, _ := strings.Cut(string(m.Data), " ")
	switch word {
	case wordCancel:
		for word := range strings.FieldsSeq(rest) {
			if key, ok := parseAttemptKey(word); ok {
				c.calls.cancel(key, time.Now())
			}
		}
	case wordPing:
		c.onPing(m.Reply, strings.FieldsSeq(rest))
	case wordTempo:
		c.setTempo(strings.Fields(rest))
	}
}

// onPing answers that the worker is there. What follows the word are attempts of
// the ingress that asks, and when each was sent: the number, '-', and Unix
// milliseconds on this worker's clock. The ingress is told again of those that
// have ended, and that those have not come which have not.
func (c *Consumer) onPing(reply string, attempts iter.Seq[string]) {
	ingress, prefix, ok := parseReplySubject(c.cfg.Realm, reply)
	if !ok || len(reply) > maxReply {
		return
	}
	c.tellOf(reply, 0, framePong)
	now := time.Now()
	for attempt := range attempts {
		number, sent, _ := strings.Cut(attempt, "-")
		id, err1 := strconv.ParseUint(number, attemptBase, 64)
		sentMs, err2 := strconv.ParseInt(sent, 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		c.reconcile(attemptKey{ingress: ingress, attempt: id}, prefix, time.UnixMilli(sentMs), now)
	}
}

// reconcile tells what became of an attempt. prefix is that of the ingress's reply
// subjects.
func (c *Consumer) reconcile(key attemptKey, prefix string, sent, now time.Time) {
	switch fate, result := c.calls.fateOf(key, sent, now); fate {
	case fateRuns:
	case fateEnded:
		c.stats.again.Add(1)
		if err := c.publish(result); err != nil {
			c.unsent(frameResult, err)
		}
	case fateUnknown:
		c.tellOf(attemptSubject(prefix, key.attempt), key.attempt, frameUnknown)
	case fateForgotten:
		c.tellOf(attemptSubject(prefix, key.attempt), key.attempt, frameForgotten)
	}
}

// tellOf sends a frame that is not one of a running call's.
func (c *Consumer) tellOf(subject string, attempt uint64, kind frameKind) {
	message := frame{kind: kind, number: 1, free: c.free()}.append(openTrailer(nil, attempt))
	if err := c.conn.Publish(subject, message); err != nil {
		c.log.Debug("answer to an ingress not sent", slog.Any("error", err)) // it asks again
	}
}
