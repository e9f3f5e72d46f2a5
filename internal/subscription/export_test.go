package subscription

// Keys is how many keys anybody listens by.
func (h *Hub) Keys() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byKey)
}
