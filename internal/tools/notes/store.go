package notes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// A note is stored and shown in the same JSON form.
type note struct {
	ID      string    `json:"id"` // also the key in the bucket, which is what counts
	Title   string    `json:"title"`
	Body    string    `json:"body"`
	Tag     string    `json:"tag,omitzero"`
	Owner   string    `json:"owner,omitzero"` // the principal who created it
	Created time.Time `json:"created"`

	size int // of the JSON form, in bytes
}

// noteSchema describes the JSON form of a note.
const noteSchema = `{
	"type": "object",
	"properties": {
		"id": {"type": "string", "description": "Names the note in other calls; its resource is notes://{id}."},
		"title": {"type": "string"},
		"body": {"type": "string", "description": "The text, in Markdown."},
		"tag": {"type": "string"},
		"owner": {"type": "string", "description": "Who created the note and may delete it."},
		"created": {"type": "string", "format": "date-time"}
	},
	"required": ["id", "title", "body", "created"],
	"additionalProperties": false
}`

// An unknownError says that there is no note of that id. It wraps
// fs.ErrNotExist, whose own text about files would only confuse a model.
type unknownError string

func (id unknownError) Error() string { return fmt.Sprintf("there is no note %.64q", string(id)) }

func (id unknownError) Unwrap() error { return fs.ErrNotExist }

const (
	idLength   = 26
	idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"
)

// newID returns an id that cannot be guessed: 130 random bits.
func newID() string { return strings.ToLower(rand.Text()) }

// isID tells whether s could come from newID. Whatever else a client sends
// never reaches the bucket.
func isID(s string) bool { return len(s) == idLength && strings.Trim(s, idAlphabet) == "" }

// store is the notes in a bucket.
type store struct {
	bucket Bucket
	now    func() time.Time
}

// create completes n and stores it.
func (s store) create(ctx context.Context, n note) (note, error) {
	n.ID = newID()
	n.Created = s.now().UTC().Truncate(time.Microsecond)
	value, err := jsonrpc.Marshal(n)
	if err != nil {
		return note{}, fmt.Errorf("encode note: %w", err)
	}
	if err := s.bucket.Create(ctx, n.ID, value); err != nil {
		return note{}, fmt.Errorf("save note: %w", err)
	}
	return n, nil
}

// get returns a note and its revision. Its error is an unknownError when there
// is no note of that id.
func (s store) get(ctx context.Context, id string) (note, uint64, error) {
	if !isID(id) {
		return note{}, 0, unknownError(id)
	}
	value, revision, err := s.bucket.Get(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return note{}, 0, unknownError(id)
	}
	if err != nil {
		return note{}, 0, fmt.Errorf("read note: %w", err)
	}
	n, err := decode(id, value)
	return n, revision, err
}

// scan calls visit with every note. Entries that are no notes are counted and
// passed over, so that one bad entry does not hide the rest.
func (s store) scan(ctx context.Context, visit func(note)) (unreadable int, err error) {
	err = s.bucket.Range(ctx, func(key string, value []byte) bool {
		n, err := decode(key, value)
		if err != nil {
			unreadable++
			return true
		}
		visit(n)
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("read notes: %w", err)
	}
	return unreadable, nil
}

// decode reads an entry of the bucket. Members that it does not know may come
// from a newer version and are ignored.
func decode(key string, value []byte) (note, error) {
	var n note
	if err := json.Unmarshal(value, &n); err != nil {
		return note{}, fmt.Errorf("decode note: %w", err)
	}
	if !isID(key) || n.Title == "" || n.Created.IsZero() {
		return note{}, errors.New("decode note: the entry is not a note")
	}
	n.ID, n.size = key, len(value)
	return n, nil
}
