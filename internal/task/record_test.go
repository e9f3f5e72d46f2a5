package task

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

var epoch = time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)

func testRecord() *record {
	return newRecord(&mcp.TaskWork{Tool: "x", Principal: "ada"}, epoch, time.Hour)
}

func asking(ids ...string) *mcp.TaskOutcome {
	out := &mcp.TaskOutcome{Ask: map[string]jsontext.Value{}, State: "kept"}
	for _, id := range ids {
		out.Ask[id] = jsontext.Value(`{"method":"roots/list"}`)
	}
	return out
}

// Spec: Tasks extension, Task Update Requests: a key is for one request, for ever.
func TestKeysAreNeverReused(t *testing.T) {
	seen := map[string]bool{}
	r := testRecord()
	r.begin("w")
	for range 3 {
		r.ask(asking("name", "2:name", "2"), "")
		require.Len(t, r.Pending, 3)
		answers := mcp.InputResponses{}
		for key := range r.Pending {
			assert.Falsef(t, seen[key], "%s again", key)
			seen[key] = true
			answers[key] = jsontext.Value(`"` + key + `"`)
		}
		assert.True(t, r.answer(answers))
	}
	assert.Equal(t, mcp.TaskWorking, r.Status)
	assert.Equal(t, mcp.InputResponses{
		"name": jsontext.Value(`"3:name"`), "2:name": jsontext.Value(`"3:2:name"`), "2": jsontext.Value(`"3:2"`),
	}, r.Work.Answers, "the handler finds the latest answers by its own ids")
}

func TestAnswers(t *testing.T) {
	r := testRecord()
	r.begin("w")
	r.ask(asking("a", "b"), "here")
	assert.Equal(t, mcp.TaskInputRequired, r.Status)
	assert.Empty(t, r.Owner, "it takes no worker while it waits")

	assert.False(t, r.answer(mcp.InputResponses{"c": nil}), "what was not asked")
	assert.True(t, r.answer(mcp.InputResponses{"a": jsontext.Value(`1`), "c": nil}))
	assert.Equal(t, mcp.TaskInputRequired, r.Status)
	assert.NotContains(t, r.view(epoch).InputRequests, "a")
	assert.False(t, r.answer(mcp.InputResponses{"a": jsontext.Value(`2`)}), "what has been answered")
	assert.True(t, r.answer(mcp.InputResponses{"b": jsontext.Value(`3`)}))
	assert.Equal(t, mcp.TaskWorking, r.Status)
	assert.Equal(t, mcp.InputResponses{"a": jsontext.Value(`1`), "b": jsontext.Value(`3`)}, r.Work.Answers)
	assert.Equal(t, "kept", r.Work.State)
	assert.Empty(t, r.view(epoch).InputRequests)
	assert.False(t, r.answer(mcp.InputResponses{"b": jsontext.Value(`4`)}), "it waits for nothing")
}

// A terminal state never changes.
func TestTerminalStates(t *testing.T) {
	for _, status := range []mcp.TaskStatus{mcp.TaskCompleted, mcp.TaskFailed, mcp.TaskCancelled} {
		r := testRecord()
		r.begin("w")
		r.end(status, epoch.Add(time.Minute), time.Second)
		before, err := r.encode()
		require.NoError(t, err)
		assert.False(t, r.cancel(epoch, time.Hour))
		assert.False(t, r.answer(mcp.InputResponses{"a": nil}))
		assert.False(t, r.heldBy("w", 1))
		after, err := r.encode()
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after))
		assert.EqualValues(t, 61_000, r.view(epoch).TTLMs, "kept for a second after its end")
		assert.Zero(t, r.view(epoch).PollIntervalMs)
	}
}

func TestConclusions(t *testing.T) {
	lost := mcp.OutcomeUnknown("the worker had to stop")
	result := jsontext.Value(`{}`)
	for name, tt := range map[string]struct {
		out        mcp.TaskOutcome
		cancelling bool
		idempotent bool
		want       mcp.TaskStatus
		owner      string
	}{
		"result":                           {out: mcp.TaskOutcome{Result: result}, want: mcp.TaskCompleted, owner: "w"},
		"tool error":                       {out: mcp.TaskOutcome{Result: result, IsError: true}, want: mcp.TaskCompleted, owner: "w"},
		"error":                            {out: mcp.TaskOutcome{Err: mcp.InternalError()}, want: mcp.TaskFailed, owner: "w"},
		"question":                         {out: *asking("a"), want: mcp.TaskInputRequired},
		"nothing but a state":              {out: *asking(), want: mcp.TaskWorking},
		"cancelled, and a result":          {out: mcp.TaskOutcome{Result: result}, cancelling: true, want: mcp.TaskCompleted, owner: "w"},
		"cancelled":                        {out: mcp.TaskOutcome{Result: result, IsError: true}, cancelling: true, want: mcp.TaskCancelled, owner: "w"},
		"cancelled, and an error":          {out: mcp.TaskOutcome{Err: mcp.InternalError()}, cancelling: true, want: mcp.TaskCancelled, owner: "w"},
		"cancelled, and a question":        {out: *asking("a"), cancelling: true, want: mcp.TaskCancelled, owner: "w"},
		"worker stops":                     {out: mcp.TaskOutcome{Err: lost}, want: mcp.TaskFailed, owner: "w"},
		"worker stops, may run again":      {out: mcp.TaskOutcome{Err: lost}, idempotent: true, want: mcp.TaskWorking},
		"own error, may run again":         {out: mcp.TaskOutcome{Err: mcp.OutcomeUnknown("x")}, idempotent: true, want: mcp.TaskFailed, owner: "w"},
		"worker stops, and it is finished": {out: mcp.TaskOutcome{Result: result}, idempotent: true, want: mcp.TaskCompleted, owner: "w"},
	} {
		t.Run(name, func(t *testing.T) {
			r := testRecord()
			r.begin("w")
			r.Cancelling, r.Work.Idempotent = tt.cancelling, tt.idempotent
			r.conclude(&tt.out, lost, "", epoch, time.Hour)
			assert.Equal(t, tt.want, r.Status)
			assert.Equal(t, tt.owner, r.Owner)
		})
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	for _, raw := range []string{``, `{`, `[]`, `{"id":"x","status":"working"}`} {
		_, err := parseRecord([]byte(raw))
		assert.Error(t, err, raw)
	}
	for _, body := range []string{``, `{}`, `{"revision":1,"record":{}}`, `{"revision":"1"}`} {
		_, err := unwrap([]byte(body))
		assert.Error(t, err, body)
	}
}

func TestPollInterval(t *testing.T) {
	assert.Equal(t, 250*time.Millisecond, pollInterval(0))
	assert.Equal(t, time.Second, pollInterval(10*time.Second))
	assert.Equal(t, 5*time.Second, pollInterval(time.Hour))
}
