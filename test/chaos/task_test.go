package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

// endsAs is the story of a task that ends 90 ms after noon, on a worker that is
// lost 50 ms after noon.
func endsAs(tool string, status mcp.TaskStatus, lines ...line) *evidence {
	s := story{call: call{tool: tool, work: 30 * time.Millisecond, asTask: true, task: "t"}, answered: 5, journal: lines}
	e := s.evidence()
	j := &job{call: *e.calls[0], end: state{Status: status, text: "end"}, ended: after(90)}
	j.last = j.end
	switch status {
	case mcp.TaskCompleted:
		j.end.Result = &toolResult{Content: []struct{ Text string }{{j.id}}}
	case mcp.TaskFailed:
		j.end.Error = &struct{ Code int }{mcp.CodeOutcomeUnknown}
	case mcp.TaskCancelled:
		j.cancelAfter, j.cancelled = time.Millisecond, after(20)
	}
	e.jobs = []*job{j}
	return e
}

func TestTaskPromises(t *testing.T) {
	started, finished, lost := line{journal.Started, 10}, line{journal.Finished, 40}, line{journal.Started, 45}
	changed := func(e *evidence, f func(*job)) *evidence {
		f(e.jobs[0])
		return e
	}
	completed := func(lines ...line) *evidence { return endsAs("write", mcp.TaskCompleted, lines...) }
	failed := func(tool string, lines ...line) *evidence { return endsAs(tool, mcp.TaskFailed, lines...) }
	cancelledTask := func(lines ...line) *evidence { return endsAs("write", mcp.TaskCancelled, lines...) }
	tests := map[string]struct {
		promise        promise
		kept, isBroken *evidence
	}{
		"twice": {taskNotTwice,
			endsAs("read", mcp.TaskCompleted, started, lost, finished),
			completed(started, lost, finished)},
		"lost": {taskNotLost,
			completed(started, finished),
			changed(completed(started, finished), func(j *job) { j.ended = time.Time{} })},
		"none accepted": {taskNotLost,
			completed(started, finished),
			changed(completed(), func(j *job) { j.task = "" })},
		"another end later": {taskEndsOnce,
			completed(started, finished),
			changed(completed(started, finished), func(j *job) { j.last.text = "another" })},
		"completed without having run": {taskTruthful,
			completed(started, finished),
			completed(started)},
		"completed with another result": {taskTruthful,
			completed(started, finished),
			changed(completed(started, finished), func(j *job) { j.text = "another" })},
		"failed on a worker that was not lost": {taskTruthful,
			failed("write", started),
			failed("write", line{journal.Started, 60})},
		"failed otherwise": {taskTruthful,
			failed("write", started),
			changed(failed("write", started), func(j *job) { j.end.Error.Code = -32603 })},
		"failed that may run again": {taskTruthful,
			failed("read", started, started, started, started),
			failed("read", started)},
		"cancelled by nobody": {taskTruthful,
			cancelledTask(),
			changed(cancelledTask(), func(j *job) { j.cancelAfter = 0 })},
		"started after its end": {taskNotAfterItsEnd,
			completed(line{journal.Started, 89}),
			completed(line{journal.Started, 91})},
		"cancelled, and goes on": {taskCancelled,
			cancelledTask(line{journal.Started, 60}, line{journal.Ended, 1060}),
			cancelledTask(line{journal.Started, 60}, line{journal.Ended, 1061})},
		"cancelled, and no end": {taskCancelled,
			cancelledTask(started),
			cancelledTask(line{journal.Started, 60})},
		"nothing cancelled": {taskCancelled,
			cancelledTask(started),
			cancelledTask()},
	}
	for name, tt := range tests {
		assert.NoError(t, tt.promise(tt.kept), name)
		assert.Error(t, tt.promise(tt.isBroken), name)
	}
}
