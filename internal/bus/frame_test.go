package bus

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

func TestTermsOnTheWire(t *testing.T) {
	for token, want := range map[string]terms{
		"s-1-2":                         {profile: mcp.Strict, startBy: time.UnixMilli(1), deadline: time.UnixMilli(2)},
		"h-1-2":                         {mirrored: true, startBy: time.UnixMilli(1), deadline: time.UnixMilli(2)},
		"c-1790000000000-1790000060000": {profile: mcp.Contract, startBy: time.UnixMilli(1790000000000), deadline: time.UnixMilli(1790000060000)},
		"s-0-9223372036854775807":       {startBy: time.UnixMilli(0), deadline: time.UnixMilli(math.MaxInt64)},
	} {
		got, ok := parseTerms(token)
		require.True(t, ok, token)
		assert.Equal(t, want, got)
		assert.Equal(t, token, string(want.append(nil)))
	}
	for _, token := range []string{"", "s", "s-", "s-1", "s-1-", "s--2", "x-1-2", "ss-1-2", "s-1-2-3", "s-a-2", "s-1-9223372036854775808"} {
		_, ok := parseTerms(token)
		assert.False(t, ok, token)
	}
}

func TestFramesOnTheWire(t *testing.T) {
	for token, want := range map[string]frame{
		"a-1-3":        {kind: frameAccept, number: 1, free: 3},
		"n-1024-0":     {kind: frameNotification, number: 1024},
		"r-2-64":       {kind: frameResult, number: 2, free: 64},
		"r-2-0--31006": {kind: frameResult, number: 2, code: mcp.CodeMessageTooLarge},
		"b-1-0":        {kind: frameBusy, number: 1},
		"d-1-4":        {kind: frameDrain, number: 1, free: 4},
		"x-1-4":        {kind: frameRefused, number: 1, free: 4},
	} {
		got, ok := parseFrame(token)
		require.True(t, ok, token)
		assert.Equal(t, want, got)
		assert.Equal(t, token, string(want.append(nil)))
	}
	for _, token := range []string{"", "r", "r-1", "r-0-1", "r--1-1", "r-1--1", "r-1-1-", "r-1-1-x", "rr-1-1", "-1-1", "\x00-1-1", "z-1-1", "r-1-1.r-1-1"} {
		_, ok := parseFrame(token)
		assert.False(t, ok, token)
	}
}

// TestReplySubject holds that both ends read the same out of a reply subject.
func TestReplySubject(t *testing.T) {
	prefix := replies("main", "I1", "0")
	sent := terms{profile: mcp.Contract, startBy: time.UnixMilli(5), deadline: time.UnixMilli(6)}
	subject := replySubject(prefix, 37, sent)
	assert.Equal(t, "mcp.v1.main.r.I1.0.11.c-5-6", subject)

	key, received, ok := parseReplySubject("main", subject)
	require.True(t, ok)
	assert.Equal(t, sent, received)
	assert.Equal(t, "I1.0.11", key)
	assert.Equal(t, key, newLink(nil, "main", "I1", "0").keys+(&attempt{id: 37}).key(), "what a cancel names")

	id, f, bare, ok := parseReply((subject + ".r-2-3")[len(prefix):])
	require.True(t, ok)
	assert.False(t, bare)
	assert.EqualValues(t, 37, id)
	assert.Equal(t, frame{kind: frameResult, number: 2, free: 3}, f)

	id, _, bare, ok = parseReply(subject[len(prefix):])
	require.True(t, ok)
	assert.True(t, bare, "the server's own")
	assert.EqualValues(t, 37, id)
}

func TestParseReplySubjectRefuses(t *testing.T) {
	for _, subject := range []string{
		"", "_INBOX.x.y", "mcp.v1.other.r.I1.0.1.s-1-2", "mcp.v1.main.r.", "mcp.v1.main.r.s-1-2",
		"mcp.v1.main.r.I1.0.1", "mcp.v1.main.r.I1.0.1.s-1", "mcp.v1.main.r.I1.0.1.s-1-2.r-1-1",
	} {
		_, _, ok := parseReplySubject("main", subject)
		assert.False(t, ok, subject)
	}
}

func FuzzTerms(f *testing.F) {
	for _, token := range []string{"s-1-2", "c-0--3", "s-+1-2", "s-1-2-3", ""} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		first, ok := parseTerms(token)
		if !ok {
			return
		}
		again, ok := parseTerms(string(first.append(nil)))
		assert.True(t, ok)
		assert.Equal(t, first, again)
	})
}

func FuzzReply(f *testing.F) {
	for _, rest := range []string{"1.s-1-2.r-1-1", "zz.s-1-2", "1", "1..", "1.x.r-2-0--31001", "", "."} {
		f.Add(rest)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		_, first, bare, ok := parseReply(rest)
		if !ok || bare {
			return
		}
		again, ok := parseFrame(string(first.append(nil)))
		assert.True(t, ok)
		assert.Equal(t, first, again)
	})
}
