package dispatch

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// Digest is short and the same for dispatchers with the same catalogue, and
// different for others. Resources are part of it by their templates only, as
// handlers tell of changes among them.
func (d *Dispatcher) Digest() string { return d.digest }

// digest hashes definitions as the lists show them.
func (c *catalogue) digest() string {
	h := sha256.New()
	h.Write([]byte(c.instructions))
	hashEntries(h, c.tools)
	hashEntries(h, c.prompts)
	hashEntries(h, c.templates)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// hashEntries separates entries by a byte that JSON does not have, and families
// by two.
func hashEntries[T listed](h hash.Hash, items []T) {
	for _, item := range items {
		h.Write([]byte{0})
		h.Write(item.entry())
	}
	h.Write([]byte{0, 0})
}
