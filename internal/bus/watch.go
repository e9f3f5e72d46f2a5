package bus

import (
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// watchEvery is how often an ingress looks at its attempts, and watchAfter how
	// old they are before it does: quick calls cost nothing.
	watchEvery = 50 * time.Millisecond
	watchAfter = 100 * time.Millisecond
	// pingLeast and pingMost are how often a worker is pinged: the more of them
	// there are, the less often each.
	pingLeast = 100 * time.Millisecond
	pingMost  = time.Second
	pingEach  = time.Millisecond
	// askMost is how often an attempt is asked for at least.
	askMost = time.Second
	// goneAfter is how long NATS may have no subscription of a worker before that
	// counts as its end: one that reconnects looks the same for a moment.
	goneAfter = 250 * time.Millisecond
	// doubtAfter is how long a worker may leave a ping unanswered until it is not
	// chosen any more; its next advert ends that.
	doubtAfter = 300 * time.Millisecond
	// frozenAfter is how long a worker may answer nothing at all.
	frozenAfter = 3 * time.Second
	// settledAfter is how long this process must have been connected to judge a
	// worker of which it has heard nothing since: after an outage others need as
	// long as it did.
	settledAfter = 3 * time.Second
	// maxPing bounds the bytes of a ping.
	maxPing = 32 << 10
)

// signs are the signs of life that an ingress has of a worker.
type signs struct {
	last     time.Time // the last one
	pinged   time.Time // the first ping since the last one; zero if there was none
	missing  time.Time // since when NATS has had no subscription of it; zero if it has
	nextPing time.Time
}

// seen takes note of one.
func (s *signs) seen(now time.Time) { s.last, s.pinged, s.missing = now, time.Time{}, time.Time{} }

func (s *signs) missed(now time.Time) {
	if s.missing.IsZero() {
		s.missing = now
	}
}

// silent is for how long a ping has been unanswered.
func (s *signs) silent(now time.Time) time.Duration {
	if s.pinged.IsZero() {
		return 0
	}
	return now.Sub(s.pinged)
}

// dead tells that the worker is lost, and why, or nothing.
func (s *signs) dead(now time.Time) (why string) {
	switch {
	case !s.missing.IsZero() && now.Sub(s.missing) >= goneAfter:
		return "NATS has no subscription of it"
	case s.silent(now) >= frozenAfter:
		return "it answers nothing"
	}
	return ""
}

// An inquiry is when an attempt is asked for next.
type inquiry struct {
	next     time.Time
	interval time.Duration
}

// due tells whether it is to be asked for now; then it is not for a while.
func (i *inquiry) due(now time.Time) bool {
	if now.Before(i.next) {
		return false
	}
	i.interval = min(max(2*i.interval, pingLeast), askMost)
	i.next = now.Add(i.interval)
	return true
}

// watch asks workers for the attempts that have no result yet, finds out which of
// them are lost and ends those that are late, until the client is closed.
func (c *Client) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case now := <-tick.C:
			c.reconcile(now)
		}
	}
}

func (c *Client) reconcile(now time.Time) {
	up, lasting := c.conn.Up()
	waiting := c.waiting(now)
	for m, attempts := range waiting {
		attempts = expire(attempts, now)
		if len(attempts) == 0 || !up { // nobody can be asked, and nobody's silence means anything
			continue
		}
		ping, why := attempts[0].pool.examine(m, now, lasting, len(waiting))
		switch {
		case why != "":
			c.lose(m, attempts, why)
		case ping:
			c.ping(m, attempts, now)
		}
	}
}

// expire ends those attempts whose time is over, and returns the others.
func expire(attempts []*attempt, now time.Time) []*attempt {
	return slices.DeleteFunc(attempts, func(a *attempt) bool {
		late := !now.Before(a.until)
		if late {
			a.push(reply{frame: frame{kind: frameLate}})
		}
		return late
	})
}

// waiting returns the attempts that are older than watchAfter, or late, by worker.
func (c *Client) waiting(now time.Time) map[*member][]*attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting map[*member][]*attempt
	for _, a := range c.attempts {
		if now.Sub(a.sent) < watchAfter && now.Before(a.until) {
			continue
		}
		if waiting == nil {
			waiting = make(map[*member][]*attempt)
		}
		waiting[a.member] = append(waiting[a.member], a)
	}
	clear(c.pinged)
	for m, attempts := range waiting {
		c.pinged[m.id] = attempts[0]
	}
	return waiting
}

// examine tells whether m is to be pinged, one of n that are, or why it is lost.
// This process has been connected for as long as lasting.
func (p *pool) examine(m *member, now time.Time, lasting time.Duration, n int) (ping bool, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	settled := lasting >= settledAfter || now.Sub(m.signs.last) < lasting
	if why = m.signs.dead(now); why != "" && settled {
		p.roster.drop(m)
		return false, why
	}
	if m.signs.silent(now) >= doubtAfter {
		p.roster.unrank(m)
	}
	if now.Before(m.signs.nextPing) {
		return false, ""
	}
	if m.signs.pinged.IsZero() {
		m.signs.pinged = now
	}
	m.signs.nextPing = now.Add(min(max(time.Duration(n)*pingEach, pingLeast), pingMost))
	return true, ""
}

// ping asks m whether it is there, and for the attempts that are due.
func (c *Client) ping(m *member, attempts []*attempt, now time.Time) {
	offset := m.clockOffset()
	message := []byte(wordPing)
	for _, a := range attempts {
		if !a.asked.due(now) {
			continue
		}
		message = strconv.AppendUint(append(message, ' '), a.id, attemptBase)
		message = strconv.AppendInt(append(message, '-'), a.sent.Add(offset).UnixMilli(), 10)
		if len(message) > maxPing {
			c.control(a.pool, m, message)
			message = []byte(wordPing)
		}
	}
	c.control(attempts[0].pool, m, message)
}

// lose gives m up. Should it come back, it learns that nobody waits for what it
// runs.
func (c *Client) lose(m *member, attempts []*attempt, why string) {
	c.log.Warn("worker lost", slog.String("worker", m.id), slog.String("reason", why), slog.Int("attempts", len(attempts)))
	message := []byte(wordCancel)
	for _, a := range attempts {
		a.push(reply{frame: frame{kind: frameLost}})
		message = append(message, c.keyed(a)...)
		if len(message) > maxPing {
			c.control(a.pool, m, message)
			message = []byte(wordCancel)
		}
	}
	c.control(attempts[0].pool, m, message)
}

// keyed is what names a among the words of a control message, with a space before
// it.
func (c *Client) keyed(a *attempt) string {
	return " " + attemptKey{ingress: c.id, attempt: a.id}.String()
}

// control sends a message to m's control subject.
func (c *Client) control(p *pool, m *member, message []byte) {
	subject := p.address.control(m.id)
	if err := c.conn.PublishRequest(subject, c.small.prefix+pongsToken+m.id, message); err != nil {
		c.log.Debug("control message not sent", slog.Any("error", err)) // a ping comes again, and a deadline ends all work
	}
}

// onPong takes the answer to a ping, or the server's word that nobody has taken
// it.
func (c *Client) onPong(m *nats.Msg) {
	c.mu.Lock()
	a := c.pinged[m.Subject[len(c.small.prefix+pongsToken):]]
	c.mu.Unlock()
	if a == nil {
		return
	}
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	if saysNoResponders(m) {
		a.member.signs.missed(time.Now())
	} else {
		a.member.signs.seen(time.Now())
	}
}

// saysNoResponders tells whether m is the NATS server's word that no subscription
// took a message.
func saysNoResponders(m *nats.Msg) bool { return len(m.Data) == 0 && m.Header.Get("Status") == "503" }
