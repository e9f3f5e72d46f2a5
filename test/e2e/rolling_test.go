package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/test/process"
)

// A load calls tools at a fixed rate, whatever the answers do. Every twentieth
// call makes a note, so that a call that ran twice would show.
type load struct {
	caller *caller

	calls  sync.WaitGroup
	mu     sync.Mutex // guards what follows
	faults []string
	notes  map[string]int // titles of the notes that were made, each once
}

// run starts a call every interval until ctx ends, and returns when all have
// been answered.
func (l *load) run(ctx context.Context, t testing.TB, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	defer l.calls.Wait()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.calls.Go(func() { l.call(t.Context(), i) })
		}
	}
}

func (l *load) call(ctx context.Context, i int) {
	var p post
	want := strconv.Itoa(i)
	switch {
	case i%20 == 0:
		p = createNote(want)
	case i%2 == 0:
		p = tool("echo", fmt.Sprintf(`{"text":%q}`, want))
	default:
		seconds := float64(1+i%100) / 1000
		p, want = tool("slow", fmt.Sprintf(`{"seconds":%g}`, seconds)), fmt.Sprintf("Waited for %g seconds.", seconds)
	}
	a, err := l.caller.send(ctx, p)
	var got string
	if err == nil {
		got, err = a.text()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.faults = append(l.faults, err.Error())
	case i%20 == 0:
		l.notes[want]++
	case got != want:
		l.faults = append(l.faults, fmt.Sprintf("%q instead of %q", got, want))
	}
}

// A rolling restart under about 200 calls a second: one worker is told to stop
// and another takes its place. No caller notices, and no call runs twice.
func TestRollingRestartOfAWorker(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	f := startFleet(t, asProcess, url, 2)
	leaving, staying := f.workers[0].says(t, process.SaysWorker), f.workers[1].says(t, process.SaysWorker)
	seen := observe(t, url)
	l := &load{caller: f.caller, notes: make(map[string]int)}
	ctx, stop := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		l.run(ctx, t, 5*time.Millisecond)
	}()
	t.Cleanup(func() { stop(); <-finished })

	seen.await(t, map[string]int{leaving: 100, staying: 100})
	f.workers[0].Terminate()
	assert.Zero(t, f.workers[0].exitCode(t))
	replacement := asProcess(t, "worker", "-nats", url).says(t, process.SaysWorker)
	seen.await(t, map[string]int{replacement: 100, staying: 100})
	stop()
	<-finished

	assert.Empty(t, l.faults)
	assert.Equal(t, l.notes, titles(t, f.ask(t, listNotes())))
}

// await waits until each worker has been sent as many more requests.
func (o *observer) await(t testing.TB, counts map[string]int) {
	t.Helper()
	for missing := len(counts); missing > 0; {
		worker, _ := o.next(t)
		if counts[worker]--; counts[worker] == 0 {
			missing--
		}
	}
}
