// Package seal protects text that a server gives to a client to keep: nobody
// can read or change it, use it for anything else than it was made for, or use
// it late. A keyring that several processes share lets any of them open what
// another has sealed. Start at Keyring.
package seal

import (
	"bufio"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// ErrInvalid is what Open returns for text that was not sealed by this keyring
// for this purpose, or was changed, or is too old: who sends it learns nothing
// of which it is.
var ErrInvalid = errors.New("not sealed by this server for this request, or too old")

const (
	format    = 1 // first byte of sealed text
	keyIDSize = 4
	timeSize  = 8
	keySize   = chacha20poly1305.KeySize
	nonceSize = chacha20poly1305.NonceSizeX
	overhead  = 1 + keyIDSize + nonceSize + timeSize + chacha20poly1305.Overhead
)

// A Keyring seals with its first key and opens with all of them, so that keys
// can be changed while text sealed with the old one is out. It is safe for
// concurrent use.
type Keyring struct {
	keys []key
	ttl  time.Duration
	now  func() time.Time
}

type key struct {
	id   [keyIDSize]byte
	aead cipher.AEAD
}

// NewKey returns a random key, as a line for ParseKeyring.
func NewKey() string {
	var k [keySize]byte
	_, _ = rand.Read(k[:]) // never fails
	return base64.StdEncoding.EncodeToString(k[:])
}

// ParseKeyring reads keys, one on each line: 32 bytes as base64. Empty lines and
// those that start with # are skipped. What is sealed can be opened for ttl.
// Errors tell the line and nothing of the key.
func ParseKeyring(r io.Reader, ttl time.Duration, now func() time.Time) (*Keyring, error) {
	ring := &Keyring{ttl: ttl, now: now}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		ring.keys = append(ring.keys, k)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if len(ring.keys) == 0 {
		return nil, errors.New("there is no key")
	}
	return ring, nil
}

func parseKey(line string) (key, error) {
	raw, err := base64.StdEncoding.DecodeString(line)
	if err != nil || len(raw) != keySize {
		return key{}, fmt.Errorf("want %d bytes as base64", keySize)
	}
	aead, err := chacha20poly1305.NewX(raw)
	if err != nil {
		return key{}, err
	}
	sum := sha256.Sum256(append([]byte("mcpyard key id "), raw...))
	return key{id: [keyIDSize]byte(sum[:]), aead: aead}, nil
}

// Seal returns plain in a form for a client to keep, of letters, digits, '-' and
// '_'. It can be opened with the same purpose only.
func (r *Keyring) Seal(plain, purpose []byte) string {
	k := r.keys[0]
	out := make([]byte, 1+keyIDSize+nonceSize, overhead+len(plain))
	out[0] = format
	copy(out[1:], k.id[:])
	nonce := out[1+keyIDSize:]
	_, _ = rand.Read(nonce) // never fails
	message := binary.BigEndian.AppendUint64(make([]byte, 0, timeSize+len(plain)), uint64(r.now().Add(r.ttl).UnixMilli()))
	message = append(message, plain...)
	out = k.aead.Seal(out, nonce, message, purpose)
	return base64.RawURLEncoding.EncodeToString(out)
}

// Open returns what was sealed for the same purpose; the error is ErrInvalid.
func (r *Keyring) Open(sealed string, purpose []byte) ([]byte, error) {
	// Strict, because the last character has bits that nobody reads otherwise;
	// line breaks would be skipped even so.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || strings.ContainsAny(sealed, "\r\n") || len(raw) < overhead || raw[0] != format {
		return nil, ErrInvalid
	}
	nonce, ciphertext := raw[1+keyIDSize:1+keyIDSize+nonceSize], raw[1+keyIDSize+nonceSize:]
	for _, k := range r.keys {
		if k.id != [keyIDSize]byte(raw[1:]) {
			continue
		}
		message, err := k.aead.Open(nil, nonce, ciphertext, purpose)
		if err != nil {
			continue // ids are short: another key may have the same
		}
		if r.now().UnixMilli() > int64(binary.BigEndian.Uint64(message)) { //nolint:gosec // as written by Seal
			return nil, ErrInvalid
		}
		return message[timeSize:], nil
	}
	return nil, ErrInvalid
}
