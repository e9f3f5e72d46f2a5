package subscription_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/subscription"
)

const many = 10_000

// A crowd is many open streams.
type crowd struct {
	hub   *subscription.Hub
	got   sync.WaitGroup // counts down with each event that has arrived
	ended sync.WaitGroup
}

// gather opens many streams and waits until all are acknowledged.
func gather(t testing.TB) *crowd {
	t.Helper()
	c := &crowd{hub: newHub(subscription.Config{MaxStreams: many})}
	handler := c.hub.Middleware(mcp.HandlerFunc(honouring))
	var acknowledged sync.WaitGroup
	acknowledged.Add(many)
	for i := range many {
		req := request(t, fmt.Sprint(i), `{"toolsListChanged":true}`)
		c.ended.Go(func() {
			first := true
			handler.Handle(t.Context(), req, func([]byte) {
				if first {
					first = false
					acknowledged.Done()
					return
				}
				c.got.Done()
			})
		})
	}
	acknowledged.Wait()
	return c
}

// publish sends one event to all and returns how long it took until everybody
// had it.
func (c *crowd) publish() time.Duration {
	c.got.Add(many)
	start := time.Now()
	c.hub.Publish(pool, mcp.ToolsListChanged())
	c.got.Wait()
	return time.Since(start)
}

func (c *crowd) disperse() {
	c.hub.Close()
	c.ended.Wait()
}

func TestAnEventReachesManyWithinASecond(t *testing.T) {
	c := gather(t)
	assert.Equal(t, many, c.hub.Streams())
	took := c.publish()
	for try := 1; took >= time.Second && try < 5; try++ { // what else this machine does is not measured here
		took = c.publish()
	}
	assert.Less(t, took, time.Second)
	c.disperse()
	assert.Zero(t, c.hub.Streams())
}

// BenchmarkManyStreams measures one event to 10,000 streams, and the memory of
// one stream with its goroutine and its request.
func BenchmarkManyStreams(b *testing.B) {
	before := memory()
	c := gather(b)
	perStream := float64(memory()-before) / many
	b.ReportAllocs()
	for b.Loop() {
		c.publish()
	}
	b.ReportMetric(perStream, "bytes/stream")
	c.disperse()
}

// memory is what is in use of heap and stacks, in bytes.
func memory() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}
