package bus_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus"
)

// bucketServer starts a NATS server with what configure changes.
func bucketServer(t *testing.T, configure func(*server.Options)) *server.Server {
	t.Helper()
	options := &server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()}
	configure(options)
	srv, err := server.NewServer(options)
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	require.True(t, srv.ReadyForConnections(10*time.Second))
	return srv
}

func bucketConn(t *testing.T, srv *server.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(srv.ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

func openBucket(t *testing.T, nc *nats.Conn, replicas int) *bus.Bucket {
	t.Helper()
	b, err := bus.OpenBucket(t.Context(), nc, "notes", replicas)
	require.NoError(t, err)
	return b
}

// localBucket is a bucket on a server of its own.
func localBucket(t *testing.T) *bus.Bucket {
	t.Helper()
	srv := bucketServer(t, func(*server.Options) {})
	return openBucket(t, bucketConn(t, srv), 1)
}

func bucketContents(t *testing.T, b *bus.Bucket) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, b.Range(t.Context(), func(key string, value []byte) bool {
		all[key] = string(value)
		return true
	}))
	return all
}

func TestBucketLife(t *testing.T) {
	b := localBucket(t)
	ctx := t.Context()
	assert.Empty(t, bucketContents(t, b))

	require.NoError(t, b.Create(ctx, "a", []byte("one")))
	require.ErrorIs(t, b.Create(ctx, "a", []byte("two")), fs.ErrExist)
	value, first, err := b.Get(ctx, "a")
	require.NoError(t, err)
	assert.Equal(t, "one", string(value))
	assert.Equal(t, map[string]string{"a": "one"}, bucketContents(t, b))

	require.ErrorIs(t, b.Delete(ctx, "a", first+1), fs.ErrExist)
	require.NoError(t, b.Delete(ctx, "a", first))
	_, _, err = b.Get(ctx, "a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, b.Delete(ctx, "a", first), fs.ErrExist, "a key that is gone has another revision")
	assert.Empty(t, bucketContents(t, b))

	require.NoError(t, b.Create(ctx, "a", nil), "a deleted key can be created again")
	value, second, err := b.Get(ctx, "a")
	require.NoError(t, err)
	assert.Empty(t, value)
	require.ErrorIs(t, b.Delete(ctx, "a", first), fs.ErrExist, "the old revision must not delete the new value")
	require.NoError(t, b.Delete(ctx, "a", second))
}

func TestBucketMissingKey(t *testing.T) {
	b := localBucket(t)
	_, _, err := b.Get(t.Context(), "missing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, `get key "missing" in bucket "notes"`)
	require.ErrorIs(t, b.Delete(t.Context(), "missing", 7), fs.ErrExist)
}

// A replica that lags would miss what was created a moment ago, which a test
// cannot force; so this one looks at whom Get asks.
func TestBucketReadsFromTheLeader(t *testing.T) {
	srv := bucketServer(t, func(*server.Options) {})
	b := openBucket(t, bucketConn(t, srv), 1)
	require.NoError(t, b.Create(t.Context(), "a", []byte("one")))

	observer := bucketConn(t, srv)
	reads, err := observer.SubscribeSync("$JS.API.STREAM.MSG.GET.KV_notes")
	require.NoError(t, err)
	direct, err := observer.SubscribeSync("$JS.API.DIRECT.GET.>")
	require.NoError(t, err)
	require.NoError(t, observer.Flush())
	_, _, err = b.Get(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, observer.Flush())
	assert.Equal(t, 1, pendingMessages(t, reads))
	assert.Zero(t, pendingMessages(t, direct))
}

func pendingMessages(t *testing.T, sub *nats.Subscription) int {
	t.Helper()
	n, _, err := sub.Pending()
	require.NoError(t, err)
	return n
}

func TestBucketInvalidKeys(t *testing.T) {
	b := localBucket(t)
	ctx := t.Context()
	require.NoError(t, b.Create(ctx, "a", []byte("one")))
	for _, key := range []string{"", "*", ">", "a.b", "a b", "ä", "a\r\nPUB x 0"} {
		_, _, err := b.Get(ctx, key)
		require.ErrorIs(t, err, fs.ErrInvalid, "get %q", key)
		require.ErrorIs(t, b.Create(ctx, key, nil), fs.ErrInvalid, "create %q", key)
		require.ErrorIs(t, b.Delete(ctx, key, 1), fs.ErrInvalid, "delete %q", key)
	}
	require.ErrorIs(t, b.Delete(ctx, "a", 0), fs.ErrInvalid, "revision 0 must not mean any revision")
	assert.Equal(t, map[string]string{"a": "one"}, bucketContents(t, b))
}

func TestBucketConcurrentCreators(t *testing.T) {
	srv := bucketServer(t, func(*server.Options) {})
	const workers, keys = 4, 50
	var won [workers][]string
	var wg sync.WaitGroup
	for w := range workers {
		nc := bucketConn(t, srv)
		wg.Go(func() {
			b, err := bus.OpenBucket(t.Context(), nc, "notes", 1)
			if !assert.NoError(t, err) {
				return
			}
			for k := range keys {
				key := fmt.Sprintf("key-%d", k)
				err := b.Create(t.Context(), key, fmt.Appendf(nil, "worker-%d", w))
				if err == nil {
					won[w] = append(won[w], key)
					continue
				}
				assert.ErrorIs(t, err, fs.ErrExist)
			}
		})
	}
	wg.Wait()

	want := map[string]string{}
	for w, created := range won {
		for _, key := range created {
			assert.NotContains(t, want, key, "created twice")
			want[key] = fmt.Sprintf("worker-%d", w)
		}
	}
	assert.Len(t, want, keys)
	assert.Equal(t, want, bucketContents(t, openBucket(t, bucketConn(t, srv), 1)))
}

func TestBucketConcurrentDeleters(t *testing.T) {
	b := localBucket(t)
	require.NoError(t, b.Create(t.Context(), "a", []byte("one")))
	_, revision, err := b.Get(t.Context(), "a")
	require.NoError(t, err)

	const deleters = 8
	errs := make([]error, deleters)
	var wg sync.WaitGroup
	for i := range deleters {
		wg.Go(func() { errs[i] = b.Delete(t.Context(), "a", revision) })
	}
	wg.Wait()
	deleted := 0
	for _, err := range errs {
		if err == nil {
			deleted++
			continue
		}
		assert.ErrorIs(t, err, fs.ErrExist)
	}
	assert.Equal(t, 1, deleted)
}

// More values than a watcher buffers, so that its callback is blocked when
// Range stops early.
func TestBucketRangeStopsEarly(t *testing.T) {
	srv := bucketServer(t, func(*server.Options) {})
	nc := bucketConn(t, srv)
	b := openBucket(t, nc, 1)
	const keys = 600
	for k := range keys {
		require.NoError(t, b.Create(t.Context(), fmt.Sprintf("key-%d", k), []byte("value")))
	}
	assert.Len(t, bucketContents(t, b), keys)

	before := nc.NumSubscriptions()
	for range 5 {
		seen := 0
		require.NoError(t, b.Range(t.Context(), func(string, []byte) bool {
			seen++
			return seen < 3
		}))
		assert.Equal(t, 3, seen)
	}
	assert.Equal(t, before, nc.NumSubscriptions(), "a subscription was left behind")
}

// TestBucketCallsEndWithinSeconds has a server that does not answer, and callers
// who would wait much longer.
func TestBucketCallsEndWithinSeconds(t *testing.T) {
	t.Parallel()
	srv := bucketServer(t, func(*server.Options) {})
	b := openBucket(t, bucketConn(t, srv), 1)
	srv.Shutdown()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ended := make(chan error, 3)
	go func() { ended <- b.Create(ctx, "a", nil) }()
	go func() { ended <- b.Delete(ctx, "a", 1) }()
	go func() {
		_, _, err := b.Get(ctx, "a")
		ended <- err
	}()
	for range 3 {
		require.Error(t, receive(t, ended))
	}
}

func TestBucketRangeEndsWithItsContext(t *testing.T) {
	b := localBucket(t)
	for _, key := range []string{"a", "b", "c"} {
		require.NoError(t, b.Create(t.Context(), key, nil))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.Range(ctx, func(string, []byte) bool { return true })
	require.ErrorIs(t, err, context.Canceled)
}

func TestOpenBucketKeepsExistingSettings(t *testing.T) {
	srv := bucketServer(t, func(*server.Options) {})
	nc := bucketConn(t, srv)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "notes", History: 5, Storage: jetstream.MemoryStorage})
	require.NoError(t, err)

	b := openBucket(t, nc, 1)
	status, err := kv.Status(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 5, status.History())

	// This bucket does not allow markers with a TTL.
	require.NoError(t, b.Create(t.Context(), "a", nil))
	_, revision, err := b.Get(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, b.Delete(t.Context(), "a", revision))
	_, _, err = b.Get(t.Context(), "a")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestOpenBucketSettings(t *testing.T) {
	srv := bucketServer(t, func(*server.Options) {})
	nc := bucketConn(t, srv)
	openBucket(t, nc, 1)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "KV_notes")
	require.NoError(t, err)
	cfg := stream.CachedInfo().Config
	assert.Equal(t, jetstream.FileStorage, cfg.Storage)
	assert.EqualValues(t, 1, cfg.MaxMsgsPerSubject)
	assert.Equal(t, 1, cfg.Replicas)
	assert.True(t, cfg.AllowMsgTTL, "markers of deleted keys must expire")
}

func TestOpenBucketWithoutJetStream(t *testing.T) {
	srv := bucketServer(t, func(o *server.Options) { o.JetStream = false })
	_, err := bus.OpenBucket(t.Context(), bucketConn(t, srv), "notes", 1)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	assert.ErrorContains(t, err, "start nats-server with -js")
}

func TestOpenBucketBadName(t *testing.T) {
	srv := bucketServer(t, func(*server.Options) {})
	_, err := bus.OpenBucket(t.Context(), bucketConn(t, srv), "no spaces", 1)
	require.ErrorIs(t, err, jetstream.ErrInvalidBucketName)
	assert.NotContains(t, err.Error(), "-js")
}

// bucketCluster starts three servers that replicate to each other.
func bucketCluster(t *testing.T) []*server.Server {
	t.Helper()
	ports := freePorts(t, 3)
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var servers []*server.Server
	for i, port := range ports {
		servers = append(servers, bucketServer(t, func(o *server.Options) {
			o.ServerName = fmt.Sprintf("node-%d", i)
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port}
			o.Routes = routes
		}))
	}
	return servers
}

// freePorts returns ports for servers that must know each other before they
// start.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer ln.Close()
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// openReplicated retries until the new cluster has elected its leader.
func openReplicated(t *testing.T, nc *nats.Conn) *bus.Bucket {
	t.Helper()
	var b *bus.Bucket
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var err error
		b, err = bus.OpenBucket(ctx, nc, "notes", 3)
		require.NoError(c, err)
	}, 30*time.Second, 20*time.Millisecond)
	return b
}

func TestBucketReplicated(t *testing.T) {
	var buckets []*bus.Bucket
	for _, srv := range bucketCluster(t) {
		buckets = append(buckets, openReplicated(t, bucketConn(t, srv)))
	}
	ctx := t.Context()
	for i := range 30 {
		key, value := fmt.Sprintf("key-%d", i), strings.Repeat("x", i)
		writer, reader := buckets[i%3], buckets[(i+1)%3]
		require.NoError(t, writer.Create(ctx, key, []byte(value)))
		got, revision, err := reader.Get(ctx, key)
		require.NoError(t, err, "created on one server, not found on another")
		require.Equal(t, value, string(got))

		require.ErrorIs(t, reader.Create(ctx, key, nil), fs.ErrExist)
		require.NoError(t, reader.Delete(ctx, key, revision))
		_, _, err = writer.Get(ctx, key)
		require.ErrorIs(t, err, fs.ErrNotExist, "deleted on one server, found on another")
		require.ErrorIs(t, writer.Delete(ctx, key, revision), fs.ErrExist)
	}
}
