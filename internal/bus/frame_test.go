package bus

import (
	"bytes"
	"math"
	"strings"
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
		got, ok := parseTerms([]byte(token))
		require.True(t, ok, token)
		assert.Equal(t, want, got)
		assert.Equal(t, token, string(want.append(nil)))
	}
	for _, token := range []string{"", "s", "s-", "s-1", "s-1-", "s--2", "x-1-2", "ss-1-2", "s-1-2-3", "s-a-2", "s-1-9223372036854775808"} {
		_, ok := parseTerms([]byte(token))
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
		got, ok := parseFrame([]byte(token))
		require.True(t, ok, token)
		assert.Equal(t, want, got)
		assert.Equal(t, token, string(want.append(nil)))
	}
	for _, token := range []string{"", "r", "r-1", "r-0-1", "r--1-1", "r-1--1", "r-1-1-", "r-1-1-x", "rr-1-1", "-1-1", "\x00-1-1", "z-1-1", "r-1-1.r-1-1"} {
		_, ok := parseFrame([]byte(token))
		assert.False(t, ok, token)
	}
}

// TestTrailers holds that both ends read the same out of a message.
func TestTrailers(t *testing.T) {
	sent := terms{profile: mcp.Contract, startBy: time.UnixMilli(5), deadline: time.UnixMilli(6)}
	message := sent.append(openTrailer([]byte("{\n}\n"), 37))
	assert.Equal(t, "{\n}\n\n11 c-5-6", string(message))
	body, attempt, token, ok := cutTrailer(message)
	require.True(t, ok)
	assert.Equal(t, "{\n}\n", string(body))
	assert.EqualValues(t, 37, attempt)
	received, ok := parseTerms(token)
	require.True(t, ok)
	assert.Equal(t, sent, received)

	result := frame{kind: frameResult, number: 2, free: 3}
	attempt, r, ok := parseReply(result.append(openTrailer(nil, 37)))
	require.True(t, ok)
	assert.EqualValues(t, 37, attempt)
	assert.Equal(t, result, r.frame)
	assert.Empty(t, r.body)

	longest := terms{again: true, startBy: time.UnixMilli(math.MinInt64), deadline: time.UnixMilli(math.MinInt64)}
	assert.LessOrEqual(t, len(longest.append(openTrailer(nil, math.MaxUint64))), maxTrailer)
	most := frame{kind: frameResult, number: math.MaxInt, free: math.MaxInt, code: math.MinInt}
	assert.LessOrEqual(t, len(most.append(openTrailer(nil, math.MaxUint64))), maxTrailer)
}

func TestTrailersThatCannotBeRead(t *testing.T) {
	for _, message := range []string{
		"", "{}", "\n", "{}\n", "{}\n! s-1-2", "{}\n s-1-2", "{}\n-1 s-1-2", "{}\n1 s-1-2\n", "\n3w5e11264sgsg s-1-2",
		"{}\n1 s-1-2" + strings.Repeat("0", maxTrailer),
	} {
		_, _, _, ok := cutTrailer([]byte(message))
		assert.False(t, ok, "%q", message)
	}
}

func TestReplySubjects(t *testing.T) {
	l := newLink(nil, "main", "I1", smallToken)
	assert.Equal(t, "mcp.v1.main.r.I1.0.a.11", attemptSubject(l.prefix, 37))
	ingress, prefix, ok := parseReplySubject("main", "mcp.v1.main.r.I1.0.i.5")
	require.True(t, ok)
	assert.Equal(t, "I1", ingress)
	assert.Equal(t, l.prefix, prefix)
	assert.Equal(t, "mcp.v1.main.r.I1.1.", bulkPrefix("main", prefix))
	for _, subject := range []string{"", "_INBOX.x.y", "mcp.v1.other.r.I1.0.i.1", "mcp.v1.main.r.", "mcp.v1.main.r.I1", "mcp.v1.main.r.I1.0"} {
		_, _, ok := parseReplySubject("main", subject)
		assert.False(t, ok, subject)
	}
}

func TestAttemptKeysOnTheWire(t *testing.T) {
	key := attemptKey{ingress: "I1", attempt: 37}
	assert.Equal(t, "I1.11", key.String())
	got, ok := parseAttemptKey("I1.11")
	require.True(t, ok)
	assert.Equal(t, key, got)
	for _, word := range []string{"", "I1", "I1.", "I1.!", "I1.0.1", ".-1"} {
		_, ok := parseAttemptKey(word)
		assert.False(t, ok, word)
	}
}

func FuzzTerms(f *testing.F) {
	for _, token := range []string{"s-1-2", "c-0--3", "s-+1-2", "s-1-2-3", ""} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		first, ok := parseTerms([]byte(token))
		if !ok {
			return
		}
		again, ok := parseTerms(first.append(nil))
		assert.True(t, ok)
		assert.Equal(t, first, again)
	})
}

func FuzzReply(f *testing.F) {
	for _, message := range []string{"{}\n1 r-1-1", "\nzz b-1-0", "{}", "1", "\n1 r-2-0--31001", "", "\n"} {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		attempt, first, ok := parseReply(message)
		if !ok {
			return
		}
		same, again, ok := parseReply(first.append(openTrailer(bytes.Clone(first.body), attempt)))
		assert.True(t, ok)
		assert.Equal(t, attempt, same)
		assert.Equal(t, first.frame, again.frame)
		assert.Equal(t, string(first.body), string(again.body))
	})
}
