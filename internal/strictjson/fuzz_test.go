package strictjson_test

import (
	stdjson "encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// Up to MaxDepth, a text is accepted exactly if jsontext accepts it, which
// refuses duplicate names and invalid UTF-8 as well.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"h\u00e9"}}}`,
		`[0,-0,1.5,1E+3,true,false,null,"\ud83d\ude00",{"":{}}]`, `{"a":1,"\u0061":2}`, `{"a":1,"A":2}`, `"\ud800"`, "\"\xff\"",
		" [ ] ", `{"a":}`, `01`, `1 2`, nest(strictjson.MaxDepth + 1), `[` + strings.Repeat(`{"k":[1,2]},`, 20) + `0]`,
		`{` + members("m", 40) + `"m3":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := skip(string(text))
		switch {
		case err == nil && !stdjson.Valid(text):
			t.Fatalf("encoding/json refuses %q", text)
		case isTooDeep(err):
			return
		case errors.Is(err, strictjson.ErrAmbiguous) && !stdjson.Valid(text):
			t.Fatalf("called ambiguous, but encoding/json refuses %q", text)
		}
		if want := jsontext.Value(text).IsValid(); want != (err == nil) {
			t.Fatalf("jsontext accepts: %v, error here: %v, for %q", want, err, text)
		}
	})
}

func isTooDeep(err error) bool { return err != nil && strings.Contains(err.Error(), "levels deep") }

// Strings are decoded as go-json-experiment decodes them.
func FuzzText(f *testing.F) {
	for _, seed := range []string{`"plain"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00"`, `"é😀"`, `"\ud800"`, `"`, `7`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got string
		var isString bool
		err := strictjson.Parse(text, func(r *strictjson.Reader) (err error) {
			got, isString, err = r.Text()
			return err
		})
		if err != nil || !isString {
			return
		}
		var want string
		if err := json.Unmarshal(text, &want); err != nil || want != got {
			t.Fatalf("want %q (error %v), got %q", want, err, got)
		}
	})
}

// An object that is walked has the members of the one that is skipped, and is
// refused whenever that is.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":2}}`, `{"a":1,"A":2}`, `{"s":1,"ſ":2}`, `{"a":1,"\u0061":2}`, `[]`, `{` + members("m", 40) + `"M3":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		names, err := walk(string(text))
		if skipErr := skip(string(text)); skipErr != nil && err == nil {
			t.Fatalf("walked, but skipped with %v: %q", skipErr, text)
		} else if err != nil && skipErr == nil && !hasVariants(names) {
			t.Fatalf("skipped, but walked with %v: %q", err, text)
		}
		if err == nil && hasVariants(names) {
			t.Fatalf("case variants accepted: %q", text)
		}
	})
}

func hasVariants(names []string) bool {
	for i, a := range names {
		for _, b := range names[:i] {
			if strings.EqualFold(a, b) {
				return true
			}
		}
	}
	return false
}
