package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

func (r *Reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *Reader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

func (r *Reader) literal(want string) error {
	if rest := r.text[r.pos:]; len(rest) < len(want) || string(rest[:len(want)]) != want {
		return r.syntax("expected %q", want)
	}
	r.pos += len(want)
	return nil
}

func (r *Reader) number() error {
	if r.peek() == '-' {
		r.pos++
	}
	switch {
	case r.peek() == '0':
		r.pos++
	case !r.digits():
		return r.syntax("expected a value")
	}
	if r.peek() == '.' {
		r.pos++
		if !r.digits() {
			return r.syntax("expected digits after '.'")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.pos++
		if c := r.peek(); c == '+' || c == '-' {
			r.pos++
		}
		if !r.digits() {
			return r.syntax("expected digits in the exponent")
		}
	}
	return nil
}

func (r *Reader) digits() bool {
	start := r.pos
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.pos++
	}
	return r.pos > start
}

// str reads a string and returns its content, which still has its escapes.
func (r *Reader) str() (raw []byte, escaped bool, err error) {
	r.pos++
	start := r.pos
	ascii := true
	for {
		r.pos += PlainLen(r.text[r.pos:])
		if r.pos == len(r.text) {
			return nil, false, r.syntax("unterminated string")
		}
		switch c := r.text[r.pos]; {
		case c == '"':
			raw = r.text[start:r.pos]
			if !ascii && !utf8.Valid(raw) {
				return nil, false, r.syntax("string is not valid UTF-8")
			}
			r.pos++
			return raw, escaped, nil
		case c == '\\':
			escaped = true
			n := escapeLen(r.text[r.pos:])
			if n == 0 {
				return nil, false, r.syntax("invalid escape")
			}
			r.pos += n
		case c < ' ':
			return nil, false, r.syntax("unescaped control character")
		default:
			ascii = false
			for r.peek() >= utf8.RuneSelf {
				r.pos++
			}
		}
	}
}

const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
)

// PlainLen returns the length of the run of ASCII text at the start of b that
// stands for itself in a JSON string: no quote, no backslash, no control
// character. It looks at eight bytes at a time; the borrows of its subtractions can mark a byte too
// many, but only above one that is rightly marked.
func PlainLen(b []byte) int {
	n := 0
	for n+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[n:])
		quote := w ^ everyByte*'"'
		slash := w ^ everyByte*'\\'
		special := (quote-everyByte)&^quote | (slash-everyByte)&^slash | (w-everyByte*' ')&^w | w
		if special &= highBits; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
		n += 8
	}
	for n < len(b) && b[n] >= ' ' && b[n] < utf8.RuneSelf && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// escapeLen returns the length of the escape sequence at the start of b, or 0
// if that is none. Surrogates count only as a pair.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		code, ok := hex4(b)
		switch {
		case !ok || isLow(code):
			return 0
		case !isHigh(code):
			return 6
		}
		if low, ok := hex4(b[6:]); ok && isLow(low) {
			return 12
		}
	}
	return 0
}

func isHigh(r rune) bool { return r>>10 == 0xd800>>10 }
func isLow(r rune) bool  { return r>>10 == 0xdc00>>10 }

// hex4 decodes the \uXXXX at the start of b.
func hex4(b []byte) (code rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		code = code<<4 | rune(c)
	}
	return code, true
}

// unescape decodes the content of a string that str has accepted.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		if raw[0] != '\\' {
			out = append(out, raw[0])
			raw = raw[1:]
			continue
		}
		n := escapeLen(raw)
		switch raw[1] {
		case 'u':
			code, _ := hex4(raw)
			if n == 12 {
				low, _ := hex4(raw[6:])
				code = (code&0x3ff)<<10 + low&0x3ff + 0x10000
			}
			out = utf8.AppendRune(out, code)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		default:
			out = append(out, raw[1])
		}
		raw = raw[n:]
	}
	return out
}
