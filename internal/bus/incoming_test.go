package bus

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/embedded"
)

// TestQueueDoorFloodDropsNoDirectRequest holds that a flood of plain requests, of
// which NATS drops what a worker does not take in time, takes none of an ingress's
// requests with it: that one would have to wait for its deadline.
func TestQueueDoorFloodDropsNoDirectRequest(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	s, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()}, log)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	conn, err := Connect(t.Context(), ConnConfig{InProcess: s, Wait: 10 * time.Second}, log)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	c, err := NewConsumer(conn, nil, ConsumerConfig{Address: Address{Realm: "test", Pool: "default"}}, log)
	require.NoError(t, err)
	in := incoming{direct: make(chan *nats.Msg, 1), plain: make(chan *nats.Msg, 1)}
	_, _, err = c.subscribe(t.Context(), in)
	require.NoError(t, err)

	for range 10 {
		require.NoError(t, conn.PublishRequest("mcp.v1.test.default.q.echo", "inbox", nil))
	}
	require.NoError(t, conn.PublishRequest(c.cfg.calls(c.id)+"echo", "inbox", nil))
	require.NoError(t, conn.FlushTimeout(10*time.Second))
	require.Len(t, in.direct, 1)
	assert.Equal(t, c.cfg.calls(c.id)+"echo", (<-in.direct).Subject)
	assert.Len(t, in.plain, 1)
}

// TestSlotsGivenBackAreOffered holds that an ingress which was bounced does not wait
// for the next regular advert, also when the slot was given back at that instant.
func TestSlotsGivenBackAreOffered(t *testing.T) {
	for name, order := range map[string]func(c *Consumer){
		"after":  func(c *Consumer) { c.want(); c.vacate() },
		"before": func(c *Consumer) { c.vacate(); c.want() },
	} {
		t.Run(name, func(t *testing.T) {
			c := &Consumer{cfg: ConsumerConfig{Slots: 1}, changed: make(chan struct{}, 1)}
			require.True(t, c.occupy())
			require.False(t, c.occupy())
			order(c)
			assert.Len(t, c.changed, 1)
			assert.False(t, c.bounced.Load())
		})
	}
}
