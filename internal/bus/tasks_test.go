package bus_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/bus/embedded"
)

func openTasks(t testing.TB, s *embedded.Server, configure ...func(*bus.TasksConfig)) *bus.Tasks {
	t.Helper()
	cfg := bus.TasksConfig{Address: address, AckWait: 300 * time.Millisecond}
	for _, f := range configure {
		f(&cfg)
	}
	tasks, err := bus.OpenTasks(t.Context(), bustest.Connect(t, s), cfg, bustest.Log(t))
	require.NoError(t, err)
	return tasks
}

// A record changes only for who knows how it is, and is there for all at once.
func TestTaskRecords(t *testing.T) {
	s := bustest.StartServer(t)
	here, there := openTasks(t, s), openTasks(t, s)
	ctx := t.Context()
	first, err := here.Create(ctx, "a", []byte("one"), time.Hour)
	require.NoError(t, err)
	_, err = there.Create(ctx, "a", []byte("two"), time.Hour)
	require.ErrorIs(t, err, fs.ErrExist)
	record, revision, err := there.Read(ctx, "a")
	require.NoError(t, err)
	assert.Equal(t, "one", string(record))
	assert.Equal(t, first, revision)

	second, err := there.Write(ctx, "a", []byte("two"), first, true, time.Hour)
	require.NoError(t, err)
	_, err = here.Write(ctx, "a", []byte("three"), first, true, time.Hour)
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = here.Write(ctx, "a", []byte("three"), 0, true, time.Hour)
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.ErrorIs(t, here.Discard(ctx, "a", first), fs.ErrExist)
	require.NoError(t, here.Discard(ctx, "a", second))
	for _, id := range []string{"a", "none", "", "a.b", "*", "_sweep", strings.Repeat("a", 5000)} {
		_, _, err = here.Read(ctx, id)
		require.ErrorIs(t, err, fs.ErrNotExist, id)
	}
	_, err = here.Write(ctx, "a", []byte("three"), second, true, time.Hour)
	require.ErrorIs(t, err, fs.ErrExist, "it is gone")
}

// Of many who change a record at once, one at a time succeeds.
func TestTaskRecordRaces(t *testing.T) {
	s := bustest.StartServer(t)
	tasks := openTasks(t, s)
	revision, err := tasks.Create(t.Context(), "a", []byte("0"), time.Hour)
	require.NoError(t, err)
	const writers = 8
	succeeded := make(chan uint64, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			if next, err := tasks.Write(t.Context(), "a", fmt.Append(nil, i), revision, true, time.Hour); err == nil {
				succeeded <- next
			} else {
				assert.ErrorIs(t, err, fs.ErrExist)
			}
		})
	}
	all.Wait()
	require.Len(t, succeeded, 1)
	_, current, err := tasks.Read(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, <-succeeded, current)
}

// What is written again keeps having an end.
func TestTaskRecordsExpire(t *testing.T) {
	s := bustest.StartServer(t)
	tasks := openTasks(t, s)
	revision, err := tasks.Create(t.Context(), "a", []byte("one"), time.Hour)
	require.NoError(t, err)
	_, err = tasks.Write(t.Context(), "a", []byte("two"), revision, false, time.Second)
	require.NoError(t, err)
	_, _, err = tasks.Read(t.Context(), "a")
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, _, err := tasks.Read(t.Context(), "a"); return err != nil }, bustest.Patience, 10*time.Millisecond)
	_, _, err = tasks.Read(t.Context(), "a")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A pull is what a worker with that much room gets.
type pull struct {
	bodies chan string
	acks   chan string
	freed  chan struct{}
	stop   func() error
}

func startPull(t testing.TB, tasks *bus.Tasks, room func() int) *pull {
	t.Helper()
	p := &pull{bodies: make(chan string, 1024), acks: make(chan string, 1024), freed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	result := make(chan error, 1)
	go func() {
		result <- tasks.Pull(ctx, room, p.freed, func(body []byte, ack string) {
			p.bodies <- string(body)
			p.acks <- ack
		})
	}()
	p.stop = sync.OnceValue(func() error {
		cancel()
		return <-result
	})
	t.Cleanup(func() { _ = p.stop() })
	return p
}

func enqueue(t testing.TB, tasks *bus.Tasks, ids ...string) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, tasks.Enqueue(t.Context(), "", id, []byte(id)))
	}
}

func queuedTasks(t testing.TB, tasks *bus.Tasks) int {
	t.Helper()
	n, err := tasks.Queued(t.Context())
	require.NoError(t, err)
	return n
}

// A worker has no more messages than room, and others get the rest.
func TestTaskQueue(t *testing.T) {
	s := bustest.StartServer(t)
	tasks := openTasks(t, s, func(cfg *bus.TasksConfig) { cfg.AckWait = time.Hour })
	enqueue(t, tasks, "a", "b", "c")
	enqueue(t, tasks, "a") // unknown whether it was
	assert.Equal(t, 3, queuedTasks(t, tasks))
	first := startPull(t, tasks, func() int { return 0 })
	one := 1
	second := startPull(t, tasks, func() int { defer func() { one = 0 }(); return one })
	assert.Equal(t, "a", receive(t, second.bodies))
	third := startPull(t, tasks, func() int { return 8 })
	assert.Equal(t, "b", receive(t, third.bodies))
	assert.Equal(t, "c", receive(t, third.bodies))
	assert.Empty(t, second.bodies)
	assert.Empty(t, first.bodies)

	tasks.Ack(receive(t, second.acks))
	require.NoError(t, second.stop())
	later, now := receive(t, third.acks), receive(t, third.acks)
	tasks.Nak(later, time.Hour)
	tasks.Nak(now, 0)
	assert.Equal(t, "c", receive(t, third.bodies))
	tasks.Ack(receive(t, third.acks))
	tasks.Nak(later, 0) // called back, whoever put it aside
	assert.Equal(t, "b", receive(t, third.bodies))
	tasks.Ack(later)
	require.Eventually(t, func() bool { return queuedTasks(t, tasks) == 0 }, bustest.Patience, time.Millisecond)
	require.NoError(t, third.stop())
}

// A message that nobody says anything about is delivered again; one that somebody
// does is not.
func TestTaskMessagesOfSilentWorkers(t *testing.T) {
	s := bustest.StartServer(t)
	tasks := openTasks(t, s)
	enqueue(t, tasks, "silent", "alive")
	p := startPull(t, tasks, func() int { return 8 })
	acks := map[string]string{}
	for range 2 {
		acks[receive(t, p.bodies)] = receive(t, p.acks)
	}
	alive := time.NewTicker(tasks.AckWait() / 10)
	defer alive.Stop()
	for again := 0; again < 3; {
		select {
		case <-alive.C:
			tasks.Progress(acks["alive"])
		case body := <-p.bodies:
			assert.Equal(t, "silent", body)
			again++
		case <-time.After(bustest.Patience):
			require.FailNow(t, "nothing is delivered again")
		}
	}
}

func TestTaskLimits(t *testing.T) {
	s := bustest.StartServer(t)
	tasks := openTasks(t, s, func(cfg *bus.TasksConfig) { cfg.MaxTasks, cfg.MaxPerPrincipal, cfg.MaxBytes = 3, 2, 4096 })
	for i, want := range []error{nil, nil, bus.ErrPrincipalFull} {
		err := tasks.Enqueue(t.Context(), "Ada <ada@example.com>", fmt.Sprint("a", i), nil)
		require.ErrorIs(t, err, want)
	}
	for i, want := range []error{nil, bus.ErrTasksFull} {
		err := tasks.Enqueue(t.Context(), fmt.Sprint("bob", i), fmt.Sprint("b", i), nil)
		require.ErrorIs(t, err, want)
		all, principal := tasks.Full(err)
		assert.Equal(t, want != nil, all)
		assert.False(t, principal)
	}
	_, err := tasks.Create(t.Context(), "a", make([]byte, 3000), time.Hour)
	require.NoError(t, err)
	_, err = tasks.Create(t.Context(), "b", make([]byte, 3000), time.Hour)
	require.ErrorIs(t, err, bus.ErrTasksFull)
}

// Streams that exist are taken as they are, but not those of somebody else.
func TestOpenTasks(t *testing.T) {
	s := bustest.StartServer(t)
	openTasks(t, s, func(cfg *bus.TasksConfig) { cfg.AckWait = time.Minute })
	assert.Equal(t, time.Minute, openTasks(t, s).AckWait())
	for _, other := range []bus.Address{{Realm: "a", Pool: "b-c"}, {Realm: "a-b", Pool: "c"}} {
		_, err := bus.OpenTasks(t.Context(), bustest.Connect(t, s), bus.TasksConfig{Address: other}, bustest.Log(t))
		if other.Pool == "c" {
			require.ErrorContains(t, err, "is that of other subjects")
		} else {
			require.NoError(t, err)
		}
	}
	plain := bucketServer(t, func(o *server.Options) { o.JetStream = false })
	conn, err := bus.Connect(t.Context(), bus.ConnConfig{URL: plain.ClientURL(), Wait: bustest.Patience}, bustest.Log(t))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	_, err = bus.OpenTasks(t.Context(), conn, bus.TasksConfig{Address: address}, bustest.Log(t))
	require.ErrorIs(t, err, bus.ErrNoJetStream)
}

// Silence does not mean that there is no JetStream, where a cluster has no leader.
func TestOpenTasksWithoutLeader(t *testing.T) {
	ports := freePorts(t, 3)
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	start := func(i int) *server.Server {
		return bucketServer(t, func(o *server.Options) {
			o.ServerName = fmt.Sprintf("node-%d", i)
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]}
			o.Routes = routes
		})
	}
	lone := start(0)
	conn, err := bus.Connect(t.Context(), bus.ConnConfig{URL: lone.ClientURL(), Wait: bustest.Patience}, bustest.Log(t))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	soon, cancel := context.WithTimeout(t.Context(), 6*time.Second) // longer than the wait for one that may not be there
	defer cancel()
	_, err = bus.OpenTasks(soon, conn, bus.TasksConfig{Address: address}, bustest.Log(t))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, bus.ErrNoJetStream)
	start(1)
	start(2)
	_, err = bus.OpenTasks(t.Context(), conn, bus.TasksConfig{Address: address}, bustest.Log(t))
	require.NoError(t, err)
}

// Workers that start together open the same streams.
func TestOpenTasksTogether(t *testing.T) {
	s := bustest.StartServer(t)
	var all sync.WaitGroup
	for range 8 {
		conn := bustest.Connect(t, s)
		all.Go(func() {
			_, err := bus.OpenTasks(t.Context(), conn, bus.TasksConfig{Address: address}, bustest.Log(t))
			assert.NoError(t, err)
		})
	}
	all.Wait()
}

// A consumer that an operator has deleted comes back.
func TestTaskConsumerIsRestored(t *testing.T) {
	s := bustest.StartServer(t)
	tasks := openTasks(t, s)
	p := startPull(t, tasks, func() int { return 8 })
	enqueue(t, tasks, "a")
	assert.Equal(t, "a", receive(t, p.bodies))
	tasks.Ack(receive(t, p.acks))
	require.Eventually(t, func() bool { return queuedTasks(t, tasks) == 0 }, bustest.Patience, time.Millisecond)
	js, err := jetstream.New(rawConn(t, s))
	require.NoError(t, err)
	require.NoError(t, js.DeleteConsumer(t.Context(), "mcpyard-taskq-test-default", "workers"))
	enqueue(t, tasks, "b")
	assert.Equal(t, "b", receive(t, p.bodies))
}

// Workers ask each other about the tasks that they run.
func TestTaskWords(t *testing.T) {
	s := bustest.StartServer(t)
	here, there := openTasks(t, s), openTasks(t, s)
	cancelled := make(chan string, 1)
	stop, err := there.Answer("w1",
		func(id, ack string) bool { return id == "mine" && ack == "here" },
		func(id string) bool { cancelled <- id; return true })
	require.NoError(t, err)
	for id, want := range map[string]bool{"mine": true, "other": false} {
		holds, err := here.Holds(t.Context(), "w1", id, "here")
		require.NoError(t, err)
		assert.Equal(t, want, holds)
	}
	require.NoError(t, here.TellCancelled(t.Context(), "w1", "x"))
	assert.Equal(t, "x", receive(t, cancelled))
	stop()
	_, err = here.Holds(t.Context(), "w1", "mine", "here")
	require.Error(t, err, "nobody is there")
	holds, err := here.Holds(t.Context(), "no.token", "mine", "here")
	require.NoError(t, err)
	assert.False(t, holds)
}

// Of several workers one at a time sweeps.
func TestTakeSweep(t *testing.T) {
	s := bustest.StartServer(t)
	here, there := openTasks(t, s), openTasks(t, s)
	assert.True(t, here.TakeSweep(t.Context(), time.Second))
	assert.False(t, there.TakeSweep(t.Context(), time.Second))
	require.Eventually(t, func() bool { return there.TakeSweep(t.Context(), time.Hour) }, bustest.Patience, 50*time.Millisecond)
}
