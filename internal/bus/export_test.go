package bus

// ReplyPrefix is the prefix of the subjects on which c takes replies.
func (c *Client) ReplyPrefix() string { return c.small.prefix }

// Inboxes is the number of inboxes that c has.
func (c *Client) Inboxes() int {
	c.inboxes.mu.Lock()
	defer c.inboxes.mu.Unlock()
	return c.inboxes.inUse + len(c.inboxes.free)
}

// TakeAllInboxes has c believe that it has no inbox to spare until giveBack is called.
func (c *Client) TakeAllInboxes() (giveBack func()) {
	take := func(n int) {
		c.inboxes.mu.Lock()
		defer c.inboxes.mu.Unlock()
		c.inboxes.inUse += n
	}
	take(maxInboxes)
	return func() { take(-maxInboxes) }
}

// Queued is the number of requests that wait for a slot in pool.
func (c *Client) Queued(pool string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pools[pool]
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.len()
}

// Kept is how much c keeps of requests: attempts, and all that is counted in its
// pools.
func (c *Client) Kept() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = len(c.attempts)
	for _, p := range c.pools {
		p.mu.Lock()
		n += p.users + p.queue.len() + p.queue.bytes + len(p.queue.lines)
		for _, m := range p.roster.members {
			n += m.sent
		}
		p.mu.Unlock()
	}
	return n
}

// Pools is the number of pools that c knows of.
func (c *Client) Pools() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pools)
}

// Kept is how much c keeps of requests: calls and occupied slots.
func (c *Consumer) Kept() int {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return len(c.calls.running) + int(c.inFlight.Load())
}

// Tombstones is the number of cancels that wait for their requests.
func (c *Consumer) Tombstones() int {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return c.calls.tombstones()
}

func (t *callTable) tombstones() (n int) {
	for _, r := range t.attempts {
		if !r.started() {
			n++
		}
	}
	return n
}
