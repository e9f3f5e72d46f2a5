package subscription_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/subscription"
)

const many = 10_000

// A crowd is many subscriptions.
type crowd struct {
	hub   *subscription.Hub
	got   sync.WaitGroup // counts down with each event that has arrived
	ended sync.WaitGroup
}

// gather opens many subscriptions and waits until all are acknowledged.
func gather(t testing.TB) *crowd {
	t.Helper()
	c := &crowd{hub: newHub(subscription.Config{MaxSubscriptions: many})}
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

// publish sends one event to all and waits until everybody has it.
func (c *crowd) publish() {
	c.got.Add(many)
	c.hub.Publish(pool, mcp.ToolsListChanged())
	c.got.Wait()
}

func (c *crowd) disperse() {
	c.hub.Close()
	c.ended.Wait()
}

func TestAnEventReachesMany(t *testing.T) {
	c := gather(t)
	assert.Equal(t, many, c.hub.Subscriptions())
	c.publish()
	c.disperse()
	assert.Zero(t, c.hub.Subscriptions())
}

// BenchmarkManySubscriptions measures one event to 10,000 subscriptions, and the
// memory of one with its goroutine and its request.
func BenchmarkManySubscriptions(b *testing.B) {
	before := memory()
	c := gather(b)
	each := float64(memory()-before) / many
	b.ReportAllocs()
	for b.Loop() {
		c.publish()
	}
	b.ReportMetric(each, "bytes/subscription")
	c.disperse()
}

// memory is what is in use of heap and stacks, in bytes.
func memory() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}
