package subscription

// Topics is the number of topics that anybody listens for.
func (h *Hub) Topics() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.topics)
}
