package bus

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSubjects(t *testing.T) {
	a := Address{Realm: "main", Pool: "notes"}
	assert.Equal(t, "mcp.v1.main.notes.w.W1.call.", a.calls("W1"))
	assert.Equal(t, "mcp.v1.main.notes.w.W1.ctl", a.control("W1"))
	assert.Equal(t, "mcp.v1.main.notes.adv.W1", a.advert("W1"))
	assert.Equal(t, "mcp.v1.main.notes.q.*", a.door())
	assert.Equal(t, "mcp.v1.main.*.adv.*", allAdverts("main"))
	assert.Equal(t, "mcp.v1.main.r.I1.0.", replies("main", "I1", "0"))
}

func TestAddressValidate(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, name := range []string{"a", "Z9", "with-dash", "with_line", long} {
		assert.NoError(t, Address{Realm: name, Pool: name}.Validate(), name)
	}
	for _, name := range []string{"", " ", "a.b", "*", ">", "a b", "ü", "a\n", long + "x"} {
		assert.ErrorContains(t, Address{Realm: name, Pool: "p"}.Validate(), "realm", name)
		assert.ErrorContains(t, Address{Realm: "r", Pool: name}.Validate(), "pool", name)
		both := Address{Realm: name, Pool: name}.Validate()
		assert.ErrorContains(t, both, "realm", name)
		assert.ErrorContains(t, both, "pool", name)
	}
}

func TestToolToken(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "_",
		"_":                      "=5F",
		"__":                     "__",
		"echo":                   "echo",
		"Get-Weather_2":          "Get-Weather_2",
		"a.b":                    "a=2Eb",
		"=5F":                    "=3D5F",
		"two words":              "two=20words",
		"ü":                      "=C3=BC",
		"*>\n\x00":               "=2A=3E=0A=00",
		strings.Repeat("x", 200): strings.Repeat("x", 200),
		strings.Repeat("x", 201): "_",
		strings.Repeat(".", 66):  strings.Repeat("=2E", 66),
		strings.Repeat(".", 67):  "_",
	} {
		assert.Equal(t, want, toolToken(name), "%q", name)
	}
}

// FuzzToolToken holds that a token names one tool: it can be decoded.
func FuzzToolToken(f *testing.F) {
	for _, name := range []string{"", "_", "echo", "a.b", "=", "=5F", "ü", strings.Repeat(".", 67)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		token := toolToken(name)
		assert.LessOrEqual(t, len(token), maxToken)
		assert.Empty(t, strings.Trim(token, keyAlphabet+"="), "what is no part of a token")
		if token == noTool {
			assert.True(t, name == "" || len(name) > maxToken/3)
			return
		}
		assert.Equal(t, name, decodeToken(t, token))
	})
}

func decodeToken(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, "=")
	name := parts[0]
	for _, part := range parts[1:] {
		require.GreaterOrEqual(t, len(part), 2)
		b, err := hex.DecodeString(part[:2])
		require.NoError(t, err)
		name += string(b) + part[2:]
	}
	return name
}

func TestParseAdvert(t *testing.T) {
	pool, worker, ok := parseAdvert("main", "mcp.v1.main.notes.adv.W1")
	require.True(t, ok)
	assert.Equal(t, "notes", pool)
	assert.Equal(t, "W1", worker)
	for _, subject := range []string{
		"",
		"mcp.v1.other.notes.adv.W1",
		"mcp.v2.main.notes.adv.W1",
		"mcp.v1.main.notes.adv.",
		"mcp.v1.main.notes.adv",
		"mcp.v1.main.notes.W1",
		"mcp.v1.main..adv.W1",
		"mcp.v1.main.notes.adv.W1.more",
		"mcp.v1.main.no tes.adv.W1",
	} {
		_, _, ok := parseAdvert("main", subject)
		assert.False(t, ok, subject)
	}
}

func FuzzParseAdvert(f *testing.F) {
	f.Add("main", "mcp.v1.main.notes.adv.W1")
	f.Add("main", "mcp.v1.main.adv.adv.adv")
	f.Add("", "mcp.v1...adv.W1")
	f.Fuzz(func(t *testing.T, realm, subject string) {
		if pool, worker, ok := parseAdvert(realm, subject); ok {
			assert.Equal(t, subject, Address{Realm: realm, Pool: pool}.advert(worker))
		}
	})
}

func TestParseAdvertBody(t *testing.T) {
	a, ok := parseAdvertBody([]byte(`{"state":"up","slots":4,"free":4,"timeMs":17,"of a later protocol":{}}`))
	require.True(t, ok)
	assert.Equal(t, advert{State: workerUp, Slots: 4, Free: 4, TimeMs: 17}, a)
	for _, body := range []string{
		``, `{}`, `[]`, `null`, `"up"`, `{"state":"up"}`,
		`{"state":"asleep","slots":1,"free":1,"timeMs":17}`,
		`{"state":"up","slots":0,"free":0,"timeMs":17}`,
		`{"state":"up","slots":-1,"free":-2,"timeMs":17}`,
		`{"state":"up","slots":1,"free":2,"timeMs":17}`,
		`{"state":"up","slots":1,"free":-1,"timeMs":17}`,
		`{"state":"up","slots":1.5,"free":1,"timeMs":17}`,
		`{"state":"up","slots":1,"free":1,"timeMs":17} x`,
		`{"state":"up","slots":1,"free":1}`,
		`{"state":"up","slots":1,"free":1,"timeMs":0}`,
		`{"state":"up","slots":1,"free":1,"timeMs":-17}`,
		`{"state":"up","slots":1,"free":1,"timeMs":9223372036854775807}`,
		`{"state":"up","slots":9223372036854775807,"free":1,"timeMs":17}`,
	} {
		_, ok := parseAdvertBody([]byte(body))
		assert.False(t, ok, body)
	}
}
