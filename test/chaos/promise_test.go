package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

var noon = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// A story is a call that was to be sent at noon, and what one worker wrote down
// of it: what, and how many milliseconds after noon.
type story struct {
	call     call
	answered int
	journal  []line
}

type line struct {
	kind journal.Kind
	at   int
}

func after(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

// evidence is that of the one story, with the worker lost 50 ms after noon.
func (s story) evidence() *evidence {
	c := s.call
	c.id, c.due, c.answered = "a", noon, after(s.answered)
	e := &evidence{calls: []*call{&c}, entries: make(map[string][]entry), blows: []blow{{"w", after(50)}}, struck: noon.Add(-1)}
	for _, l := range s.journal {
		e.entries["a"] = append(e.entries["a"], entry{journal.Event{Kind: l.kind, ID: "a", At: after(l.at)}, "w"})
	}
	return e
}

func TestPromises(t *testing.T) {
	const ms = time.Millisecond
	quick := []line{{journal.Started, 10}, {journal.Finished, 40}}
	write, read := call{tool: "write", work: 30 * ms}, call{tool: "read", work: 30 * ms}
	ended := func(c call, o outcome) call { c.outcome = o; return c }
	unproven := func(c call) call { c.unproven = true; return c }
	tests := map[string]struct {
		promise        promise
		kept, isBroken story
	}{
		"twice": {noneTwice,
			story{read, 90, append(quick, quick...)},
			story{write, 90, append(quick, quick...)}},
		"orphan": {noneAfterItsAnswer,
			story{ended(write, cut), 5, quick},
			story{ended(write, outcomeUnknown), 5, quick}},
		"silence": {noneSilent,
			story{ended(write, deadlineExceeded), 90, nil},
			story{ended(write, silent), 90, nil}},
		"success of what did not run": {truthful,
			story{write, 90, quick},
			story{write, 90, quick[:1]}},
		"refusal of what ran": {truthful,
			story{unproven(ended(write, deadlineExceeded)), 90, quick},
			story{ended(write, deadlineExceeded), 90, quick}},
		"another answer": {truthful,
			story{write, 90, quick},
			story{ended(write, wrong), 90, quick}},
		"refusal without a time": {wellFormed,
			story{ended(write, overloaded), 90, nil},
			story{call{outcome: overloaded, flaw: "refused"}, 90, nil}},
		"failure": {noneFails,
			story{ended(write, cancelled), 90, nil},
			story{ended(write, outcomeUnknown), 90, nil}},
		"failure of another kind": {failsOnlyWith(outcomeUnknown),
			story{ended(write, outcomeUnknown), 90, nil},
			story{ended(write, deadlineExceeded), 90, nil}},
		"failure of what could run again": {repeatablesSucceed,
			story{ended(write, outcomeUnknown), 90, quick},
			story{ended(read, outcomeUnknown), 90, quick}},
		"late answer": {within(20 * ms),
			story{write, 50, quick},
			story{ended(write, outcomeUnknown), 50, quick}},
		"late answers": {usuallyWithin(20 * ms),
			story{write, 50, quick},
			story{write, 51, quick}},
		"late answer to what was caught": {caughtWithin(20 * ms),
			story{ended(write, outcomeUnknown), 70, quick[:1]},
			story{ended(write, outcomeUnknown), 71, quick[:1]}},
		"nothing caught": {caughtWithin(20 * ms),
			story{ended(write, outcomeUnknown), 60, quick[:1]},
			story{write, 60, quick}},
		"late end": {endsSoon,
			story{ended(write, cancelled), 10, []line{{journal.Started, 5}, {journal.Ended, 210}}},
			story{ended(write, cancelled), 10, []line{{journal.Started, 5}, {journal.Ended, 211}}}},
		"no end": {endsSoon,
			story{ended(write, cancelled), 10, []line{{journal.Started, 5}, {journal.Finished, 9}}},
			story{ended(write, cancelled), 10, quick[:1]}},
		"start after the cancel": {noneAfterItsCancel,
			story{ended(write, cancelled), 10, []line{{journal.Started, 210}}},
			story{ended(write, cancelled), 10, []line{{journal.Started, 211}}}},
		"stubborn call not told": {caughtStubbornAreUnknown,
			story{call{tool: "stubborn", outcome: outcomeUnknown}, 90, quick[:1]},
			story{call{tool: "stubborn"}, 90, quick[:1]}},
		"no stubborn call": {caughtStubbornAreUnknown,
			story{call{tool: "stubborn", outcome: outcomeUnknown}, 90, quick[:1]},
			story{write, 90, quick[:1]}},
		"other call beside stubborn ones": {onlyStubbornFail,
			story{call{tool: "stubborn", outcome: outcomeUnknown}, 90, nil},
			story{ended(write, outcomeUnknown), 90, nil}},
		"bystander": {succeeds("bystander"),
			story{call{kind: "flooder", outcome: overloaded}, 90, nil},
			story{call{kind: "bystander", outcome: overloaded}, 90, nil}},
		"no flood": {floodIsRefused,
			story{call{outcome: overloaded}, 90, nil},
			story{write, 90, nil}},
	}
	for name, tt := range tests {
		assert.NoError(t, tt.promise(tt.kept.evidence()), name)
		assert.Error(t, tt.promise(tt.isBroken.evidence()), name)
	}
}

func TestKeepsPace(t *testing.T) {
	e := &evidence{struck: after(100)}
	add := func(kind string, due, took int) {
		e.calls = append(e.calls, &call{kind: kind, due: after(due), answered: after(due + took)})
	}
	holds := keepsPace("small", 3)
	assert.Error(t, holds(e), "nothing is known")
	add("small", 0, 10)
	add("small", 100, 29)
	add("large", 100, 1000)
	assert.NoError(t, holds(e))
	add("small", 100, 30)
	assert.NoError(t, holds(e), "one of two is beyond the p99")
	e.calls[1].answered = after(130)
	assert.Error(t, holds(e))
}

func TestAllWork(t *testing.T) {
	e := &evidence{struck: noon, calls: []*call{{id: "a", due: after(1)}}, entries: make(map[string][]entry)}
	for _, worker := range []string{"1", "2", "3", "4"} {
		assert.Error(t, allWork(e))
		e.entries["a"] = append(e.entries["a"], entry{journal.Event{Kind: journal.Started}, worker})
	}
	assert.NoError(t, allWork(e))
}

func TestLongestSilence(t *testing.T) {
	e := &evidence{calls: []*call{
		{due: after(0), answered: after(10)},
		{due: after(20), answered: after(90), outcome: cancelled}, // nobody was answered
		{due: after(30), answered: after(50), outcome: outcomeUnknown},
		{due: after(60), answered: after(70)},
		{due: after(5), answered: after(500), outcome: deadlineExceeded}, // when no calls were made any more
	}}
	assert.Equal(t, 40*time.Millisecond, e.longestSilence())
	assert.Equal(t, 495*time.Millisecond, e.longestAnswer())
	e.calls[0].sent = after(3)
	assert.Equal(t, 3*time.Millisecond, e.lag())
	assert.Equal(t, map[outcome]int{outcomeUnknown: 1, deadlineExceeded: 1}, e.failures())
}

func TestClock(t *testing.T) {
	ahead := clock(5 * time.Second)
	for subject, messages := range map[string][2]string{
		"mcp.v1.main.default.adv.W": {
			"PUB s 70\r\n{\"slots\":4,\"timeMs\":1790000000000}\r\n",
			"PUB s 70\r\n{\"slots\":4,\"timeMs\":1790000005000}\r\n",
		},
		"mcp.v1.main.default.w.W.call.T": {
			"MSG s 1 mcp.v1.main.r.I.0.i.1 9\r\n{ h-1790000000000-1790000060000\r\n}\n1z h-1790000000000-1790000060000\r\n",
			"MSG s 1 mcp.v1.main.r.I.0.i.1 9\r\n{ h-1790000000000-1790000060000\r\n}\n1z h-1789999995000-1790000055000\r\n",
		},
		"mcp.v1.main.r.I.c.A": {"PUB s 9\r\n\"timeMs\":1790000000000\r\n", "PUB s 9\r\n\"timeMs\":1790000000000\r\n"},
	} {
		assert.Equal(t, messages[1], string(ahead(subject, []byte(messages[0]))), subject)
	}
}

func TestQuarters(t *testing.T) {
	s := series{9, 1, 2, 3, 4, 5, 6, 0}
	assert.Equal(t, []float64{1, 2, 4, 0}, []float64{s.quarter(0), s.quarter(1), s.quarter(2), s.quarter(3)})
}
