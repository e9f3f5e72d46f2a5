package process

import "sync"

// An Output keeps what a program writes. It may be used concurrently.
type Output struct {
	mu    sync.Mutex // guards what follows
	text  []byte
	grown chan struct{} // closed by the next Write; nil when nobody waits for it
}

// Write takes in p.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if o.grown != nil {
		close(o.grown)
		o.grown = nil
	}
	return len(p), nil
}

// Snapshot returns the text so far and a channel that is closed when it is more.
func (o *Output) Snapshot() (text string, grown <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.grown == nil {
		o.grown = make(chan struct{})
	}
	return string(o.text), o.grown
}

// String returns the text so far.
func (o *Output) String() string {
	text, _ := o.Snapshot()
	return text
}
