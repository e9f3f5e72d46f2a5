package mcpstdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

var errTooLong = errors.New("line longer than the limit")

// A line is one message, or why there is none: errTooLong, io.EOF or what Read
// returned.
type line struct {
	text []byte
	err  error
}

// A lineReader splits a stream into lines.
type lineReader struct {
	in  *bufio.Reader
	max int64 // bytes in a line, without its end
}

func newLineReader(in io.Reader, limit int64) lineReader {
	return lineReader{in: bufio.NewReaderSize(in, 64<<10), max: limit}
}

// pump sends lines until ctx ends or a line has an error other than errTooLong.
// Lines without any text are left out.
func (r *lineReader) pump(ctx context.Context, lines chan<- line) {
	for ctx.Err() == nil {
		text, err := r.next()
		if err == nil && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		select {
		case lines <- line{text: text, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

// next reads one line, which may end with the stream instead of a newline. The
// text is the caller's. Of a line that is too long it holds no more than the
// limit, skips the rest and returns errTooLong.
func (r *lineReader) next() ([]byte, error) {
	var text []byte
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte{'\n'})
		tooLong = tooLong || int64(len(text)+len(part)) > r.max
		if tooLong {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil // the next read reports the end
		default:
			return text, err
		}
	}
}

// A lineWriter writes messages, each on a line of its own. After an error it
// writes nothing more.
type lineWriter struct {
	fail context.CancelCauseFunc // told of the error

	mu  sync.Mutex // keeps lines apart
	out *bufio.Writer
}

func newLineWriter(out io.Writer) lineWriter {
	return lineWriter{out: bufio.NewWriter(out)}
}

// write writes messages, which are compact and so have no line ends, if wanted
// says so. No other message is written, or wanted, in between.
func (w *lineWriter) write(wanted func() bool, messages ...[]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !wanted() {
		return
	}
	for _, message := range messages {
		_, _ = w.out.Write(message)
		_ = w.out.WriteByte('\n')
	}
	if err := w.out.Flush(); err != nil { // the first error of all
		w.fail(fmt.Errorf("write a message: %w", err))
	}
}
