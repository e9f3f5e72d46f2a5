package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/test/process"
)

// A note is what the notes tools show of one.
type note struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

func createNote(title string) post {
	return tool("notes_create", fmt.Sprintf(`{"title":%q,"body":"b"}`, title))
}

// titles returns how often each title occurs in a list of notes.
func titles(t testing.TB, a answer) map[string]int {
	t.Helper()
	var list struct {
		Notes     []note `json:"notes"`
		Truncated bool   `json:"truncated"`
	}
	a.structured(t, &list)
	require.False(t, list.Truncated)
	count := make(map[string]int)
	for _, n := range list.Notes {
		count[n.Title]++
	}
	return count
}

func listNotes() post { return tool("notes_list", `{}`) }

func TestANoteIsThereForEveryWorker(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	seen := observe(t, server.ClientURL())
	f := startFleet(t, inProcess, server.ClientURL(), 2)
	pairs := make(map[[2]string]bool) // which worker created a note, and which found it
	for i := 0; len(pairs) < 4; i++ {
		require.Less(t, i, 100, "seen only %v", pairs)
		var created note
		f.ask(t, createNote("t"+strconv.Itoa(i))).structured(t, &created)
		creator, _ := seen.next(t)
		for range 1 + i%2 { // an odd number of requests in between, so that turns change
			a := f.ask(t, strict("resources/read", "notes://"+created.ID, fmt.Sprintf(`"uri":"notes://%s"`, created.ID)))
			require.Contains(t, a.response(), `"text":"b"`)
			finder, _ := seen.next(t)
			pairs[[2]string{creator, finder}] = true
		}
		assert.Equal(t, 1, titles(t, f.ask(t, listNotes()))[created.Title])
		seen.next(t)
	}
}

func TestConcurrentCreatorsLoseNothing(t *testing.T) {
	t.Parallel()
	const creators, each = 8, 12
	server := bustest.StartServer(t)
	f := startFleet(t, inProcess, server.ClientURL(), 2)
	want := make(map[string]int)
	var all sync.WaitGroup
	for c := range creators {
		for n := range each {
			want[fmt.Sprintf("%d-%d", c, n)] = 1
		}
		all.Go(func() {
			for n := range each {
				a, err := f.send(t.Context(), createNote(fmt.Sprintf("%d-%d", c, n)))
				if assert.NoError(t, err) {
					_, err = a.text()
					assert.NoError(t, err)
				}
			}
		})
	}
	all.Wait()
	assert.Equal(t, want, titles(t, f.ask(t, listNotes())))
}

func TestPoolsAreApart(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	f := startFleet(t, inProcess, server.ClientURL(), 1)
	other := inProcess(t, "worker", "-nats", server.ClientURL(), "-pool", "other")
	other.says(t, process.SaysWorker)

	for _, p := range []post{createNote("ours").in("other"), createNote("theirs")} {
		_, err := f.ask(t, p).text()
		require.NoError(t, err)
	}
	assert.Equal(t, map[string]int{"ours": 1}, titles(t, f.ask(t, listNotes().in("other"))))
	assert.Equal(t, map[string]int{"theirs": 1}, titles(t, f.ask(t, listNotes())))
	assert.Equal(t, map[string]int{"theirs": 1}, titles(t, f.ask(t, listNotes().in("default"))))

	for _, p := range []post{listNotes().in("none"), contract("tools/list", "").in("none")} {
		a := f.ask(t, p)
		assert.Equal(t, http.StatusServiceUnavailable, a.status)
		assert.Equal(t, -31002, a.code(t))
		after, err := strconv.Atoi(a.header.Get("Retry-After"))
		require.NoError(t, err)
		assert.Positive(t, after)
	}
}

func TestRealmsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	blue := startFleet(t, inProcess, server.ClientURL(), 1, "-realm", "blue")
	lonely := startFleet(t, inProcess, server.ClientURL(), 0, "-realm", "red")
	a := lonely.ask(t, listNotes())
	assert.Equal(t, http.StatusServiceUnavailable, a.status)
	assert.Equal(t, -31002, a.code(t))

	green := startFleet(t, inProcess, server.ClientURL(), 1, "-realm", "green")
	_, err := blue.ask(t, createNote("blue")).text()
	require.NoError(t, err)
	assert.Equal(t, map[string]int{}, titles(t, green.ask(t, listNotes())))
	assert.Equal(t, map[string]int{"blue": 1}, titles(t, blue.ask(t, listNotes())))
}

// One slot and no place to wait: what cannot be taken is refused, and was not
// started.
func TestOverloadIsRefused(t *testing.T) {
	t.Parallel()
	local := inProcess(t, "ingress", "-local", "-http", "127.0.0.1:0", "-slots", "1", "-queue", "1")
	c := newCaller(t, local.says(t, process.SaysClients))
	busy, err := c.open(t.Context(), tool("slow", `{"seconds":3}`))
	require.NoError(t, err)
	_, ok := busy.next()
	require.True(t, ok, "progress, so it runs")

	type outcome struct {
		text string
		code int
	}
	outcomes := make(chan outcome, 5)
	var all sync.WaitGroup
	for range cap(outcomes) {
		all.Go(func() {
			a, err := c.send(t.Context(), tool("echo", `{"text":"x"}`))
			if !assert.NoError(t, err) {
				return
			}
			if a.status == http.StatusServiceUnavailable {
				outcomes <- outcome{code: a.code(t)}
				return
			}
			text, err := a.text()
			assert.NoError(t, err)
			outcomes <- outcome{text: text}
		})
	}
	all.Wait()
	close(outcomes)
	count := make(map[outcome]int)
	for o := range outcomes {
		count[o]++
	}
	assert.Equal(t, map[outcome]int{{text: "x"}: 1, {code: -31001}: 4}, count)
	rest, err := busy.rest()
	require.NoError(t, err)
	text, err := rest.text()
	require.NoError(t, err)
	assert.Equal(t, "Waited for 3 seconds.", text)
}

// The deadline is the ingress's, and frees the slot.
func TestDeadline(t *testing.T) {
	t.Parallel()
	local := inProcess(t, "ingress", "-local", "-http", "127.0.0.1:0", "-slots", "1", "-deadline", "300ms")
	c := newCaller(t, local.says(t, process.SaysClients))
	late := contract("tools/call", `"name":"slow","arguments":{"seconds":600}`)
	for range 2 {
		start := time.Now()
		a := c.ask(t, late)
		assert.Equal(t, http.StatusGatewayTimeout, a.status)
		assert.Equal(t, -31003, a.code(t))
		assert.Contains(t, a.response(), `"started":true`, "it had the only slot")
		assert.GreaterOrEqual(t, time.Since(start), 300*time.Millisecond)
	}
}

// With one slot, a call can only be answered when the one before has given its
// slot back: to leave is to cancel.
//
// Spec: MCP 2026-07-28, Cancellation, Transport-Specific Cancellation.
func TestAClientThatLeavesCancels(t *testing.T) {
	t.Parallel()
	c, _ := startLocal(t, "-slots", "1")
	soon, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		ctx, leave := context.WithCancel(soon)
		s, err := c.open(ctx, endless())
		require.NoError(t, err)
		_, ok := s.next()
		require.True(t, ok, "progress, so it runs")
		leave()
		_, err = s.rest()
		require.ErrorIs(t, err, context.Canceled)
		a, err := c.send(soon, tool("echo", `{"text":"x"}`))
		require.NoError(t, err)
		text, err := a.text()
		require.NoError(t, err)
		assert.Equal(t, "x", text)
	}
}
