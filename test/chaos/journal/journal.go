// Package journal is the file in which a worker writes down what becomes of the
// calls that it runs. It survives the worker, however that ends.
package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// A Kind says what has happened to a call.
type Kind string

// What a tool writes down: that it has started, and how it came to its end.
const (
	Started  Kind = "started"
	Finished Kind = "finished" // it has done its work
	Ended    Kind = "ended"    // its context has ended before
)

// An Event is a line of a journal.
type Event struct {
	Kind Kind
	ID   string // of the call, without spaces
	At   time.Time
}

// A Writer appends to a journal. It may be used concurrently, also by several
// processes.
type Writer struct{ file *os.File }

// Open opens the journal of that name, a new one if there is none.
func Open(name string) (*Writer, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{file}, nil
}

// Write writes down that the call id has come to kind now. It is in the hands of
// the operating system on return.
func (w *Writer) Write(kind Kind, id string) error {
	_, err := fmt.Fprintf(w.file, "%s %s %d\n", kind, id, time.Now().UnixNano())
	return err
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// Read returns what is in the journal of that name; nothing if there is none.
func Read(name string) (events []Event, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var e Event
		var at int64
		if _, err := fmt.Sscanf(line, "%s %s %d\n", &e.Kind, &e.ID, &at); err != nil {
			return nil, fmt.Errorf("%s: line %q: %w", name, line, err)
		}
		e.At = time.Unix(0, at)
		events = append(events, e)
	}
	return events, nil
}
