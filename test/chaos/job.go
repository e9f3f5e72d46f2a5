package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

// A job is a call that becomes a task, and what its client sees of the task.
type job struct {
	call // has become the task, and is what the journals name

	cancelAfter time.Duration // when the client cancels the task that it has got; 0: never

	cancelled time.Time // when the cancel was acknowledged; zero: it was not
	missed    bool      // the task was not found before it had ended
	end       state     // the first terminal one that was seen; zero: there was none
	ended     time.Time // when that was
	last      state     // when all was over
}

// A state is what tasks/get says of a task.
type state struct {
	Status         mcp.TaskStatus
	LastUpdatedAt  string
	PollIntervalMs int
	Result         *toolResult
	Error          *struct{ Code int }

	text string // the whole of it
}

// jobPatience is how long clients follow a task: longer than it can take with five
// workers lost over it.
const jobPatience = 5 * time.Minute

// errNoTask says that there is no such task.
var errNoTask = errors.New("task not found")

// run has the client create the task and follow it to its end.
func (j *job) run(ctx context.Context, c *client) {
	c.do(ctx, &j.call)
	if j.task == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, jobPatience)
	defer cancel()
	for pause := time.Duration(0); lasts(ctx, pause) == nil; {
		if j.toCancel() {
			j.cancel(ctx, c)
		}
		s, err := c.about(ctx, "tasks/get", j.task)
		switch {
		case errors.Is(err, errNoTask):
			j.missed = true
			return
		case err == nil && s.Status.Terminal():
			j.end, j.ended = s, time.Now()
			return
		case err == nil:
			pause = j.pause(time.Duration(s.PollIntervalMs) * time.Millisecond)
		default:
			pause = 100 * time.Millisecond
		}
	}
}

// toCancel tells whether the client is to cancel the task now.
func (j *job) toCancel() bool {
	return j.cancelAfter > 0 && j.cancelled.IsZero() && time.Since(j.answered) >= j.cancelAfter
}

// pause is how long to wait before the next look, of which the server has a wish.
func (j *job) pause(wish time.Duration) time.Duration {
	if j.cancelAfter > 0 && j.cancelled.IsZero() {
		return min(wish, time.Until(j.answered.Add(j.cancelAfter)))
	}
	return wish
}

func (j *job) cancel(ctx context.Context, c *client) {
	if _, err := c.about(ctx, "tasks/cancel", j.task); err == nil {
		j.cancelled = time.Now()
	}
}

// about asks one ingress something about a task.
func (c *client) about(ctx context.Context, method, task string) (s state, err error) {
	ctx, cancel := context.WithTimeout(ctx, clientPatience)
	defer cancel()
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"taskId":%q,%s}}`, task, method, task, metadata(true))
	url := c.urls[int(c.turn.Add(1))%len(c.urls)]
	_, body, err := c.exchange(ctx, url, method, task, request)
	if err != nil {
		return s, err
	}
	var r struct {
		Result json.RawMessage
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return s, err
	}
	if r.Error != nil {
		if r.Error.Code == -32602 {
			return s, errNoTask
		}
		return s, fmt.Errorf("%s: %d", method, r.Error.Code)
	}
	s.text = string(r.Result)
	return s, json.Unmarshal(r.Result, &s)
}

// lookAgain asks for the state of all tasks that were seen to end.
func lookAgain(ctx context.Context, c *client, jobs []*job) error {
	var all sync.WaitGroup
	defer all.Wait()
	few := make(chan struct{}, 16)
	for _, j := range jobs {
		if j.ended.IsZero() {
			continue
		}
		few <- struct{}{}
		all.Go(func() {
			defer func() { <-few }()
			_ = eventually(ctx, func() (bool, error) { // what was not seen is no end
				var err error
				j.last, err = c.about(ctx, "tasks/get", j.task)
				return err == nil || errors.Is(err, errNoTask), nil
			})
		})
	}
	return ctx.Err()
}

// A stint is one run of a job on a worker.
type stint struct {
	worker       string
	began, ended time.Time // ended is zero when the worker has not said that it was
}

// stints are the runs of a job.
func (e *evidence) stints(j *job) (all []stint) {
	open := make(map[string]int) // by worker, that which has not ended
	for _, n := range e.entries[j.id] {
		if n.Kind == journal.Started {
			open[n.worker] = len(all)
			all = append(all, stint{worker: n.worker, began: n.At})
		} else {
			all[open[n.worker]].ended = n.At
		}
	}
	return all
}

// lost tells whether the worker was lost during the stint, of which what comes
// after until is of no interest.
func (e *evidence) lost(s stint, until time.Time) bool {
	for _, b := range e.blows {
		if b.worker == s.worker && b.at.After(s.began) && b.at.Before(until) && (s.ended.IsZero() || b.at.Before(s.ended.Add(finishing))) {
			return true
		}
	}
	return false
}

// jobsWhere returns the jobs that match wants.
func (e *evidence) jobsWhere(match func(*job) bool) (found []*call) {
	for _, j := range e.jobs {
		if match(j) {
			found = append(found, &j.call)
		}
	}
	return found
}
