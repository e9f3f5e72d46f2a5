package strictjson

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plainLenByByte is PlainLen without its trick.
func plainLenByByte(b []byte) int {
	for i, c := range b {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(b)
}

func TestPlainLenOfEveryByteAtEveryPlace(t *testing.T) {
	for c := range 256 {
		for length := range 20 {
			for place := range length {
				b := []byte("abcdefghijklmnopqrst")[:length]
				b[place] = byte(c)
				require.Equal(t, plainLenByByte(b), PlainLen(b), "%q", b)
			}
		}
	}
}

// Bytes beside the limits of plain text are those that a borrow could change.
func TestPlainLenOfRandomText(t *testing.T) {
	const alphabet = "\x00\x01\x1e\x1f !\"#[\\]}~\x7f\x80\x81\xa0\xa2\xdc\xfe\xffab"
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		b := make([]byte, random.IntN(33))
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
			if random.IntN(3) > 0 {
				b[i] = '!' // plain, and one above a space and one below a quote
			}
		}
		require.Equal(t, plainLenByByte(b), PlainLen(b), "%q", b)
	}
}

func FuzzPlainLen(f *testing.F) {
	f.Add([]byte("plain text\x1f\"\\\x80"))
	f.Add([]byte("!!!!!!!\"#!!!!!!!"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if want, got := plainLenByByte(b), PlainLen(b); want != got {
			t.Fatalf("want %d, got %d for %q", want, got, b)
		}
	})
}

// A name is looked for among all names only while there are few of them; this
// is what makes a large object cost as much per member as a small one.
func TestNamesOfLargeObjectsAreNotScanned(t *testing.T) {
	for _, casing := range []casing{exactCase, foldCase} {
		seen := objectNames{casing: casing}
		var names [][]byte
		for i := range 10 * manyNames {
			name := fmt.Appendf(nil, "name-%d", i)
			require.False(t, seen.has(names, name))
			names = append(names, name)
		}
		names = append(names, []byte("only listed"))
		assert.False(t, seen.has(names, []byte("only listed")), "found by a scan")
		assert.True(t, seen.has(names, []byte("name-0")))
		assert.True(t, seen.has(names, names[manyNames]))
		assert.Equal(t, bool(casing), seen.has(names, []byte("NAME-0")))
	}
}

func TestReleaseForgetsNames(t *testing.T) {
	r := &Reader{text: []byte("secret"), names: [][]byte{[]byte("secret")}, depth: 3}
	r.release()
	assert.Equal(t, &Reader{names: r.names}, r)
	assert.Empty(t, r.names)
	assert.Nil(t, r.names[:1][0])

	r = &Reader{names: make([][]byte, 100*manyNames)}
	r.release()
	assert.Zero(t, cap(r.names), "a long list is not kept")
}
