package seal_test

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/seal"
)

const ttl = time.Minute

var noon = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func ring(t testing.TB, now time.Time, keys ...string) *seal.Keyring {
	t.Helper()
	r, err := seal.ParseKeyring(strings.NewReader(strings.Join(keys, "\n")), ttl, at(now))
	require.NoError(t, err)
	return r
}

func TestRoundTrip(t *testing.T) {
	key := seal.NewKey()
	for _, plain := range []string{"", "x", strings.Repeat("long", 10_000)} {
		sealed := ring(t, noon, key).Seal([]byte(plain), []byte("purpose"))
		assert.Regexp(t, `^[A-Za-z0-9_-]+$`, sealed)
		opened, err := ring(t, noon, key).Open(sealed, []byte("purpose"))
		require.NoError(t, err)
		assert.Equal(t, plain, string(opened))
	}
}

// Two keys whose ids are the same, found by trying numbers.
func TestKeysWithTheSameID(t *testing.T) {
	var keys [2]string
	for i, number := range []uint32{7548, 28444} {
		keys[i] = base64.StdEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, number), make([]byte, 28)...))
	}
	sealed := ring(t, noon, keys[1]).Seal([]byte("x"), nil)
	opened, err := ring(t, noon, keys[0], keys[1]).Open(sealed, nil)
	require.NoError(t, err)
	assert.Equal(t, "x", string(opened))
}

func TestNothingIsSealedTwiceAlike(t *testing.T) {
	r := ring(t, noon, seal.NewKey())
	first := r.Seal([]byte("x"), nil)
	assert.NotEqual(t, first, r.Seal([]byte("x"), nil))
}

func TestAnyChangeIsRefused(t *testing.T) {
	r := ring(t, noon, seal.NewKey())
	sealed := r.Seal([]byte("secret"), []byte("p"))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="
	for i := range sealed {
		for _, c := range []byte(letters) { // all, since the last one has bits that count for nothing
			changed := sealed[:i] + string(c) + sealed[i+1:]
			if changed == sealed {
				continue
			}
			_, err := r.Open(changed, []byte("p"))
			require.ErrorIs(t, err, seal.ErrInvalid, "byte %d as %c", i, c)
		}
		_, err := r.Open(sealed[:i], []byte("p"))
		require.ErrorIs(t, err, seal.ErrInvalid)
	}
	for _, changed := range []string{sealed + "A", sealed + "-TAMPERED", sealed + "\n", " " + sealed, ""} {
		_, err := r.Open(changed, []byte("p"))
		require.ErrorIs(t, err, seal.ErrInvalid, changed)
	}
}

func TestPurposeIsPartOfTheSeal(t *testing.T) {
	r := ring(t, noon, seal.NewKey())
	_, err := r.Open(r.Seal([]byte("x"), []byte("one")), []byte("two"))
	require.ErrorIs(t, err, seal.ErrInvalid)
}

func TestSealsExpire(t *testing.T) {
	key := seal.NewKey()
	sealed := ring(t, noon, key).Seal([]byte("x"), nil)
	_, err := ring(t, noon.Add(ttl), key).Open(sealed, nil)
	require.NoError(t, err)
	_, err = ring(t, noon.Add(ttl+time.Millisecond), key).Open(sealed, nil)
	require.ErrorIs(t, err, seal.ErrInvalid)
}

func TestRotation(t *testing.T) {
	old, fresh := seal.NewKey(), seal.NewKey()
	sealedOld := ring(t, noon, old).Seal([]byte("x"), nil)
	both := ring(t, noon, fresh, old)
	_, err := both.Open(sealedOld, nil)
	require.NoError(t, err, "the old key still opens")
	_, err = ring(t, noon, fresh).Open(both.Seal([]byte("x"), nil), nil)
	require.NoError(t, err, "the first key seals")
	_, err = ring(t, noon, fresh).Open(sealedOld, nil)
	require.ErrorIs(t, err, seal.ErrInvalid)
}

func TestParseKeyring(t *testing.T) {
	r, err := seal.ParseKeyring(strings.NewReader("# keys\n\n "+seal.NewKey()+" \r\n"), ttl, at(noon))
	require.NoError(t, err)
	assert.NotEmpty(t, r.Seal(nil, nil))
	for want, text := range map[string]string{
		"there is no key": "# none\n",
		"line 2: want 32": seal.NewKey() + "\nc2hvcnQ=",
		"line 1: want 32": "not base64!",
	} {
		_, err := seal.ParseKeyring(strings.NewReader(text), ttl, at(noon))
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "c2hvcnQ")
	}
}

func FuzzOpen(f *testing.F) {
	r := ring(f, noon, seal.NewKey())
	f.Add(r.Seal([]byte("x"), nil))
	f.Add("AQAA")
	f.Fuzz(func(t *testing.T, sealed string) {
		if plain, err := r.Open(sealed, []byte("never used")); err == nil {
			t.Fatalf("opened %q", plain)
		}
	})
}
