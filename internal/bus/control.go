package bus

import (
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
		for key := range strings.FieldsSeq(rest) {
			c.calls.cancel(key, time.Now())
		}
	case wordPing:
		c.onPing(m.Reply, strings.Fields(rest))
	case wordTempo:
		c.setTempo(strings.Fields(rest))
	}
}

// onPing answers that the worker is there. What follows the word are the part of
// their keys that all attempts of the ingress have in common, and then for each
// the rest of its key, '-', and when it was sent, in Unix milliseconds on this
// worker's clock. The ingress is told again of those that have ended, and that
// those have not come which have not.
func (c *Consumer) onPing(reply string, attempts []string) {
	if !isReplySubject(c.cfg.Realm, reply) || len(reply) > maxReply {
		return
	}
	c.tellOf(reply, framePong)
	if len(attempts) < 2 {
		return
	}
	common, now := attempts[0], time.Now()
	for _, attempt := range attempts[1:] {
		id, sent, _ := strings.Cut(attempt, "-")
		sentMs, err := strconv.ParseInt(sent, 10, 64)
		if err != nil {
			continue
		}
		c.reconcile(common+id, time.UnixMilli(sentMs), now)
	}
}

// reconcile tells what became of an attempt.
func (c *Consumer) reconcile(key string, sent, now time.Time) {
	// In place of the terms, which are not known, stands an empty one.
	reply := Protocol + "." + c.cfg.Realm + ".r." + key + "._"
	if len(reply) > maxReply {
		return
	}
	switch fate, result := c.calls.fateOf(key, sent, now); fate {
	case fateRuns:
	case fateEnded:
		c.stats.again.Add(1)
		if err := c.publish(result); err != nil {
			c.unsent(frameResult, err)
		}
	case fateUnknown:
		c.tellOf(reply, frameUnknown)
	case fateForgotten:
		c.tellOf(reply, frameForgotten)
	}
}

// tellOf sends a frame that is not one of a running call's.
func (c *Consumer) tellOf(reply string, kind frameKind) {
	f := frame{kind: kind, number: 1, free: c.free()}
	if err := c.conn.Publish(string(f.append([]byte(reply+"."))), nil); err != nil {
		c.log.Debug("answer to an ingress not sent", slog.Any("error", err)) // it asks again
	}
}
