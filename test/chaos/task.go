package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

const (
	// cancelledWithin is how soon a tool learns that its task is cancelled.
	cancelledWithin = time.Second
	// finishing is how long the end of a run may take to be written, in an election:
	// a worker that is lost in it has not told anybody how the run ended.
	finishing = 15 * time.Second
	// mostLost is how many workers may be lost over a task that may run again.
	mostLost = 5
	// taskQueue is the stream of which the leader is killed.
	taskQueue = "mcpyard-taskq-main-default"
)

// Tasks, and the end of whatever has to do with them.
func tasks() []scenario {
	return []scenario{{
		name:     "tasks, and kill -9 of workers, ingresses and the stream's leader",
		layout:   layout{servers: 3, workerFlags: []string{"-replicas", "3"}},
		rate:     20,
		fault:    killUnderTasks(killEach, killLeaders),
		promises: taskPromises,
	}, {
		name:     "tasks, and kill -9 of workers, ingresses and the only NATS server",
		rate:     20,
		fault:    killUnderTasks(killEach, killOnly),
		promises: taskPromises,
	}}
}

// taskPromises let other calls be refused: while there is no leader, requests about
// tasks wait for one, and take slots.
var taskPromises = []promise{failsOnlyWith(cut, outcomeUnknown, overloaded),
	taskNotTwice, taskNotLost, taskEndsOnce, taskTruthful, taskNotAfterItsEnd, taskCancelled}

// killUnderTasks does all of that while tasks are created and run, waits for their
// ends and looks at them again.
func killUnderTasks(faults ...func(context.Context, *run) error) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		clients := r.createTasks(ctx, pick(r.size, 60, 1000))
		err := all(ctx, r, faults)
		clients.Wait()
		r.noteTasks()
		return errors.Join(err, lookAgain(ctx, r.client, r.jobs))
	}
}

// all injects several faults at once.
func all(ctx context.Context, r *run, faults []func(context.Context, *run) error) error {
	errs := make([]error, len(faults))
	var injected sync.WaitGroup
	for i, f := range faults {
		injected.Go(func() { errs[i] = f(ctx, r) })
	}
	injected.Wait()
	return errors.Join(errs...)
}

// createTasks begins to create n tasks, within the time that the workers are being
// killed. Their clients are gone when all have ended.
func (r *run) createTasks(ctx context.Context, n int) *sync.WaitGroup {
	random := rand.New(rand.NewPCG(1, 6))
	for i := range n {
		j := r.newJob(random)
		j.id = fmt.Sprintf("task-%d", i)
		r.jobs = append(r.jobs, j)
	}
	each := r.killing() * 3 / 4 / time.Duration(n)
	var clients sync.WaitGroup
	clients.Go(func() {
		for _, j := range r.jobs {
			if lasts(ctx, each) != nil {
				return
			}
			j.due, j.sent = time.Now(), time.Now()
			clients.Go(func() { j.run(ctx, r.client) })
		}
	})
	return &clients
}

// newJob is a task of 1 to 20 s, or the tenth of that, which a quarter of the
// clients cancel at some time.
func (r *run) newJob(random *rand.Rand) *job {
	unit := pick(r.size, 100*time.Millisecond, time.Second)
	j := &job{call: call{tool: []string{"read", "write"}[random.IntN(2)], work: between(random, unit, 20*unit), asTask: true}}
	if random.IntN(4) == 0 {
		j.cancelAfter = between(random, time.Millisecond, j.work)
	}
	return j
}

// killing is how long workers are killed.
func (r *run) killing() time.Duration { return pick(r.size, 9*time.Second, 75*time.Second) }

// killEach kills a worker each 3 s, and starts it again, and twice an ingress.
func killEach(ctx context.Context, r *run) error {
	const every = 3 * time.Second
	rounds := int(r.killing() / every)
	for i := range rounds {
		w := r.workers[i%len(r.workers)]
		next := time.Now().Add(every)
		r.lose(w)
		if err := bringBack(ctx, w, 200*time.Millisecond); err != nil {
			return err
		}
		if i == rounds/3 || i == rounds*2/3 {
			if err := bringBack(ctx, r.ingresses[i%len(r.ingresses)], 200*time.Millisecond); err != nil {
				return err
			}
		}
		if err := lasts(ctx, time.Until(next)); err != nil {
			return err
		}
	}
	return nil
}

// bringBack kills a node and starts it again after a while.
func bringBack(ctx context.Context, n *node, away time.Duration) error {
	if err := n.kill(ctx); err != nil {
		return err
	}
	if err := lasts(ctx, away); err != nil {
		return err
	}
	return n.start(ctx)
}

// killLeaders kills the server that leads the queue of tasks, twice.
func killLeaders(ctx context.Context, r *run) error {
	return r.twice(ctx, func() error {
		name, err := r.leader(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(r.servers, func(s *server) bool { return s.name == name })
		if i < 0 {
			return fmt.Errorf("the leader %q is none of the servers", name)
		}
		return bringBack(ctx, &r.servers[i].node, 2*time.Second)
	})
}

// killOnly kills the only server, twice.
func killOnly(ctx context.Context, r *run) error {
	return r.twice(ctx, func() error { return bringBack(ctx, &r.servers[0].node, 2*time.Second) })
}

// twice does something twice in the time that workers are killed.
func (r *run) twice(ctx context.Context, f func() error) error {
	for range 2 {
		if err := errors.Join(lasts(ctx, r.killing()/4), f()); err != nil {
			return err
		}
	}
	return nil
}

// leader is the server that leads the queue of tasks.
func (r *run) leader(ctx context.Context) (name string, err error) {
	var urls []string
	for _, s := range r.servers {
		urls = append(urls, s.url())
	}
	conn, err := nats.Connect(strings.Join(urls, ","))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return name, eventually(ctx, func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // while there is no leader, nobody answers
		defer cancel()
		stream, err := js.Stream(ctx, taskQueue)
		if err != nil {
			return false, err
		}
		if cluster := stream.CachedInfo().Cluster; cluster != nil {
			name = cluster.Leader
		}
		return name != "", nil
	})
}

// noteTasks adds to the report what has become of the tasks.
func (r *run) noteTasks() {
	created, ends := make(map[outcome]int), make(map[mcp.TaskStatus]int)
	for _, j := range r.jobs {
		if j.task == "" {
			created[j.outcome]++
		} else {
			ends[j.end.Status]++
		}
	}
	r.note("%d tasks asked for; not created: %s", len(r.jobs), failures(created))
	for _, status := range slices.Sorted(maps.Keys(ends)) {
		r.note("%d tasks %s", ends[status], status)
	}
}

// taskNotTwice: no task runs twice of a tool that must not.
func taskNotTwice(e *evidence) error {
	return none(e.jobsWhere(func(j *job) bool { return !j.repeatable() && len(e.stints(j)) > 1 }), "started twice, as tasks")
}

// taskNotLost: each task that was accepted is there until it has come to an end.
func taskNotLost(e *evidence) error {
	accepted := e.jobsWhere(func(j *job) bool { return j.task != "" })
	if 2*len(accepted) < len(e.jobs) {
		return fmt.Errorf("%d tasks of %d were accepted: nothing is shown", len(accepted), len(e.jobs))
	}
	return none(e.jobsWhere(func(j *job) bool { return j.task != "" && j.ended.IsZero() }), "lost, as tasks")
}

// taskEndsOnce: an end is never another one later.
func taskEndsOnce(e *evidence) error {
	return none(e.jobsWhere(func(j *job) bool { return j.end.text != j.last.text }), "changed after their end, as tasks")
}

// taskTruthful: a task ends as its run has, and fails only because a worker was
// lost.
func taskTruthful(e *evidence) error {
	return none(e.jobsWhere(func(j *job) bool { return !j.ended.IsZero() && !e.explains(j) }), "ended as tasks with what is not true")
}

// explains tells whether the journals have a reason for the end of the task.
func (e *evidence) explains(j *job) bool {
	switch j.end.Status {
	case mcp.TaskCompleted:
		return j.end.Result != nil && j.end.Result.says(j.wanted()) && len(e.of(&j.call, journal.Finished)) > 0
	case mcp.TaskCancelled:
		return j.cancelAfter > 0
	case mcp.TaskFailed:
		if j.end.Error == nil || j.end.Error.Code != mcp.CodeOutcomeUnknown {
			return false
		}
	default:
		return false
	}
	lost := slices.DeleteFunc(e.stints(j), func(s stint) bool { return !e.lost(s, j.ended) })
	if j.repeatable() {
		return len(lost) >= mostLost-1 // of one that was lost before the tool said anything there is no stint
	}
	return len(lost) == len(e.stints(j))
}

// taskNotAfterItsEnd: nothing starts of a task that was seen to have ended. A call
// that may run twice may have become two tasks, if a worker was lost over the first.
func taskNotAfterItsEnd(e *evidence) error {
	return none(e.jobsWhere(func(j *job) bool {
		return !j.ended.IsZero() && !j.repeatable() && slices.ContainsFunc(e.stints(j), func(s stint) bool { return s.began.After(j.ended) })
	}), "started after they had ended, as tasks")
}

// taskCancelled: what a cancelled task runs ends soon.
func taskCancelled(e *evidence) error {
	cancelled := e.jobsWhere(func(j *job) bool { return !j.cancelled.IsZero() && len(e.stints(j)) > 0 })
	if len(cancelled) == 0 {
		return errors.New("no task was cancelled that had begun: nothing is shown")
	}
	return none(e.jobsWhere(func(j *job) bool {
		return !j.cancelled.IsZero() && slices.ContainsFunc(e.stints(j), func(s stint) bool { return s.began.Before(j.ended) && e.ignores(s, j.cancelled) })
	}), "ran on for more than %s after their cancel, as tasks", cancelledWithin)
}

// ignores tells whether the stint goes on for too long after a cancel, on a worker
// that could have ended it.
func (e *evidence) ignores(s stint, cancelled time.Time) bool {
	if s.began.After(cancelled) {
		cancelled = s.began
	}
	latest := cancelled.Add(cancelledWithin)
	return (s.ended.IsZero() || s.ended.After(latest)) && !e.lost(s, latest)
}
