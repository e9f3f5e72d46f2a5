package bus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
)

func TestAdvertsSweep(t *testing.T) {
	c := &Client{cfg: ClientConfig{Realm: "main"}, pools: make(map[string]*pool)}
	advertise := func(pool string) {
		body := []byte(`{"state":"up","slots":1,"free":1,"timeMs":1790000000000}`)
		c.onAdvert(&nats.Msg{Subject: "mcp.v1.main." + pool + ".adv.W1", Data: body})
	}
	advertise("silent")
	long := time.Now().Add(-2 * forgottenAfter)
	r := &c.pools["silent"].roster
	r.find("W1").lastSeen, r.due, c.swept = long, long, long
	advertise("alive")
	assert.NotContains(t, c.pools, "silent")
	assert.Contains(t, c.pools, "alive")
}

// TestSweep holds that adverts of workers that vanish leave nothing behind,
// whatever pools they named.
func TestSweep(t *testing.T) {
	c := &Client{pools: make(map[string]*pool)}
	for _, name := range []string{"silent", "asked", "alive"} {
		p := c.enter(name)
		p.heard("W1", advert{State: workerUp, Slots: 1, Free: 1})
		c.leave(p)
	}
	c.enter("asked")
	c.sweep(time.Now())
	assert.Len(t, c.pools, 3)

	later := time.Now().Add(forgottenAfter + time.Second)
	c.pools["alive"].roster.update("W1", advert{State: workerUp, Slots: 1, Free: 1}, later)
	c.sweep(later)
	assert.NotContains(t, c.pools, "silent")
	assert.Contains(t, c.pools, "asked")
	assert.Contains(t, c.pools, "alive")

	c.enter("stranger")
	c.leave(c.pools["asked"])
	c.sweep(later.Add(time.Second))
	assert.Contains(t, c.pools, "stranger", "in use")
}
