package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcpyard/mcpyard/test/chaos/journal"
	"github.com/mcpyard/mcpyard/test/chaos/proxy"
)

// skewed is more than the time that a request has to be started in, so that a
// worker would refuse, or an ingress give up, what is not on its clock.
const skewed = 5 * time.Second

// Workers whose clocks are not those of the ingresses.
func skews() []scenario {
	return []scenario{{
		name:     "clocks that differ by 5 s",
		layout:   layout{proxied: true},
		fault:    skew,
		promises: []promise{noneFails, within(time.Second), allWork},
	}}
}

// skew sets the clock of one worker forward, and that of another back. As clocks
// must not jump, they are new workers.
func skew(ctx context.Context, r *run) error {
	for i, by := range []time.Duration{skewed, -skewed} {
		w := r.workers[i]
		if err := w.stop(ctx); err != nil {
			return err
		}
		w.proxy.Alter(clock(by))
		if err := w.start(ctx); err != nil {
			return err
		}
	}
	r.struck = time.Now()
	return r.load.more(ctx, pick(r.size, 3, 30)*r.rate)
}

// What tells of a worker's clock on the wire: the time in its adverts, and the
// times by which it is to start a request and to end it.
var (
	advertTime = regexp.MustCompile(`"timeMs":(\d{13})`)
	terms      = regexp.MustCompile(`(?i) [shc]-(\d{13})-(\d{13})\r\n$`)
)

// clock makes the clock of a worker look as if it was ahead: only what the others
// see of it is changed, and what they say in its terms is changed back.
func clock(ahead time.Duration) proxy.Alteration {
	return func(subject string, message []byte) []byte {
		switch {
		case strings.Contains(subject, ".adv."):
			return shift(message, advertTime, ahead)
		case strings.Contains(subject, ".call."):
			return shift(message, terms, -ahead)
		}
		return message
	}
}

// shift adds d to the times in text that pattern's groups match. The text keeps
// its length.
func shift(text []byte, pattern *regexp.Regexp, d time.Duration) []byte {
	shifted := bytes.Clone(text)
	for _, match := range pattern.FindAllSubmatchIndex(text, -1) {
		for i := 2; i < len(match); i += 2 {
			at := shifted[match[i]:match[i+1]]
			ms, err := strconv.ParseInt(string(at), 10, 64)
			if err != nil {
				continue // more than there is time
			}
			copy(at, strconv.FormatInt(ms+d.Milliseconds(), 10))
		}
	}
	return shifted
}

// allWork: each worker is given calls under the fault.
func allWork(e *evidence) error {
	busy := make(map[string]int)
	for _, c := range e.where(func(c *call) bool { return c.due.After(e.struck) }) {
		for _, n := range e.of(c, journal.Started) {
			busy[n.worker]++
		}
	}
	if len(busy) < workers {
		return fmt.Errorf("only these workers were given calls: %v", busy)
	}
	return nil
}
