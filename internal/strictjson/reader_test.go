package strictjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/strictjson"
)

// skip reads text as one raw value.
func skip(text string) error {
	return strictjson.Parse([]byte(text), func(r *strictjson.Reader) error {
		_, err := r.Value()
		return err
	})
}

// walk reads text as an object whose members are raw values.
func walk(text string) (names []string, err error) {
	err = strictjson.Parse([]byte(text), func(r *strictjson.Reader) error {
		_, err := r.Object(func(name []byte) error {
			names = append(names, string(name))
			_, err := r.Value()
			return err
		})
		return err
	})
	return names, err
}

func TestParseAccepts(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `""`, `{}`, `[]`, " \t\r\n[ \t\r\n] \t\r\n", `{ }`,
		`0`, `-0`, `1`, `-1`, `10`, `0.0`, `1.50`, `1e3`, `1E+3`, `-1.5e-0007`, `9007199254740993`,
		strings.Repeat("9", 400), `1e999999`,
		`[1,[2,[3]],{"a":[]}]`, `{ "a" : 1 , "b" : { "a" : 2 } }`, `[{"a":1},{"a":1}]`,
		`"\"\\\/\b\f\n\r\t"`, `"\u0000\u001F\u00e9\uFFFF"`, `"\ud83d\ude00"`, `"\uDBFF\uDFFF"`,
		"\"\x7f\"", `"é"`, `"漢字"`, `"😀"`, "\"\ufeff\"", "\"\ufffd\"", "\"\u2028\"",
		`{"":0}`, `{"a":1,"A":2}`, `{"ſ":1,"s":2}`, `{"\u0000":1,"":2}`,
		`"` + strings.Repeat("plain text ", 100) + `"`, `"1234567é"`, `"12345678é1234567"`,
	} {
		t.Run(text, func(t *testing.T) { assert.NoError(t, skip(text)) })
	}
}

func TestParseRefusesSyntax(t *testing.T) {
	for _, text := range []string{
		``, ` `, "\x00", `nul`, `nulL`, `True`, `tru`, `fals`, `NaN`, `Infinity`, `undefined`, `'a'`, `a`, "\ufeff{}",
		`-`, `+1`, `01`, `-01`, `00`, `.5`, `1.`, `-.5`, `1.e3`, `1e`, `1e+`, `1E-`, `0x10`, `1_000`, `--1`, `1.5.2`, `1e3.5`,
		`[`, `]`, `[,]`, `[1,]`, `[,1]`, `[1 2]`, `[1,,2]`, `[1}`, `[1`, `[1,`, `[[]`, `[]]`, `[:]`,
		`{`, `}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a":1,,"b":2}`, `{"a" 1}`, `{"a"::1}`,
		`{"a":1]`, `{"a":1`, `{"a":`, `{"a"`, `{"a`, `{a:1}`, `{1:1}`, `{null:1}`, `{[]:1}`, `{'a':1}`, `{"a":1;"b":2}`,
		`1 2`, `{}{}`, `{} x`, `null,`, `[]//`, `/**/1`, `{}` + "\x00", `1` + "\x0b", "\x0c1", "\u00a01", `truefalse`, `""""`,
	} {
		t.Run(text, func(t *testing.T) { assertNotJSON(t, text) })
	}
}

func TestParseRefusesStrings(t *testing.T) {
	contents := []string{
		`\`, `\x`, `\0`, `\'`, `\a`, `\U0041`, `\u`, `\u1`, `\u12`, `\u123`, `\u123g`, `\u 123`, `\u+123`, `\u{41}`,
		`\ud800`, `\uDBFF`, `\udc00`, `\uDFFF`, `\ud800a`, `\ud800\n`, `\ud800\u0041`, `\ud800\ud800`, `\udc00\ud800`, `\ud800\udc0`,
		"\n", "\r", "\t", "\x00", "\x1f", "12345678\n", "1234567\x01", "123456\x1f8",
		"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe2\x82", "\xe0\x80\x80", "\xf0\x9f\x98", "\xf0\x80\x80\x80",
		"\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xfe", "12345678\xff", "é\xe9",
	}
	for _, content := range contents {
		t.Run(content, func(t *testing.T) {
			assertNotJSON(t, `"`+content+`"`)
			assertNotJSON(t, `["`+content+`"]`)
			assertNotJSON(t, `{"`+content+`":1}`)
			_, err := walk(`{"a":{"b":"` + content + `"}}`)
			require.ErrorIs(t, err, strictjson.ErrNotJSON)
			_, err = walk(`{"` + content + `":1}`)
			require.ErrorIs(t, err, strictjson.ErrNotJSON)
		})
	}
	for _, text := range []string{`"`, `"a`, `"12345678`, `"\"`, `"\u0041`, `"é`} {
		assertNotJSON(t, text)
	}
}

func assertNotJSON(t *testing.T, text string) {
	t.Helper()
	err := skip(text)
	require.ErrorIs(t, err, strictjson.ErrNotJSON, "%q", text)
	assert.NotErrorIs(t, err, strictjson.ErrAmbiguous, "%q", text)
}

func TestParseReportsWhere(t *testing.T) {
	assert.EqualError(t, skip(`{"a":1,}`), "not valid JSON: expected a member name at byte 7")
	assert.EqualError(t, skip(`[1 2]`), "not valid JSON: expected ',' or ']' at byte 3")
	assert.EqualError(t, skip(`{"a":1,"a":2}`), `ambiguous JSON: member "a" occurs twice`)
	assert.EqualError(t, skip(`{"a":1,"a":2,"b":1,"b":2}`), `ambiguous JSON: member "a" occurs twice`, "the first fault")
	assert.EqualError(t, skip(nest(strictjson.MaxDepth+1)), "ambiguous JSON: nested more than 128 levels deep")
}

func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func nestObjects(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

func TestDepth(t *testing.T) {
	const most = strictjson.MaxDepth
	for _, text := range []string{nest(most), nestObjects(most), `[` + nest(most-1) + `,` + nestObjects(most-1) + `]`} {
		require.NoError(t, skip(text))
	}
	for _, text := range []string{
		nest(most + 1), nestObjects(most + 1), nest(1_000_000), nestObjects(1_000_000),
		`[` + nest(most-1) + `,` + nestObjects(most) + `]`,
		strings.Repeat("[", most) + `[[],{"a":"]\"}"},[]]` + strings.Repeat("]", most),
	} {
		err := skip(text)
		require.ErrorIs(t, err, strictjson.ErrAmbiguous)
		assert.NotErrorIs(t, err, strictjson.ErrNotJSON)
	}
	for _, text := range []string{
		strings.Repeat("[", most+1), strings.Repeat("[", 1_000_000), strings.Repeat(`{"a":`, 1_000_000),
		nest(most+1) + "]", nest(most+1) + "x", strings.Repeat("[", most+1) + `"`,
	} {
		assertNotJSON(t, text)
	}
}

func TestDepthOfObjectsWalked(t *testing.T) {
	called := 0
	var descend func(r *strictjson.Reader) error
	descend = func(r *strictjson.Reader) error {
		_, err := r.Object(func([]byte) error {
			called++
			return descend(r)
		})
		return err
	}
	require.NoError(t, strictjson.Parse([]byte(nestObjects(strictjson.MaxDepth)), descend))
	assert.Equal(t, strictjson.MaxDepth, called)

	called = 0
	require.ErrorIs(t, strictjson.Parse([]byte(nestObjects(strictjson.MaxDepth+5)), descend), strictjson.ErrAmbiguous)
	assert.Equal(t, strictjson.MaxDepth, called)
}

func TestReadingGoesOnAfterAmbiguity(t *testing.T) {
	for _, first := range []string{`"x":1,"x":2`, `"x":1,"X":2`, `"x":{"y":1,"y":2}`, `"x":` + nest(strictjson.MaxDepth), `"x":` + nestObjects(500)} {
		names, err := walk(`{` + first + `,"last":1}`)
		require.ErrorIs(t, err, strictjson.ErrAmbiguous, first)
		assert.Equal(t, "last", names[len(names)-1], first)
	}
	_, err := walk(`{"x":1,"x":2,"last":}`)
	require.ErrorIs(t, err, strictjson.ErrNotJSON, "a syntax fault is worse than one before it")
}

func TestDuplicates(t *testing.T) {
	inside := []string{`%s`, `[%s]`, `[1,%s]`, `{"o":%s}`, `[[{"o":[%s]}],2]`, `{"p":{},"o":{"q":%s}}`}
	twice := []string{
		`{"a":1,"a":1}`, `{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"":1,"":2}`, `{"é":1,"\u00e9":2}`,
		`{"\/":1,"/":2}`, `{"\ud83d\ude00":1,"😀":2}`, `{"a\n":1,"a\u000a":2}`, `{"a":{"b":1},"a":1}`, `{"b":{"a":1,"a":2}}`,
	}
	for _, frame := range inside {
		for _, object := range twice {
			text := fmt.Sprintf(frame, object)
			err := skip(text)
			require.ErrorIs(t, err, strictjson.ErrAmbiguous, text)
			assert.NotErrorIs(t, err, strictjson.ErrNotJSON, text)
			_, err = walk(text)
			require.ErrorIs(t, err, strictjson.ErrAmbiguous, text)
		}
	}
}

func TestLongNamesAreShortenedInErrors(t *testing.T) {
	name := strings.Repeat("n", 1000)
	err := skip(`{"` + name + `":1,"` + name + `":2}`)
	require.ErrorIs(t, err, strictjson.ErrAmbiguous)
	assert.Less(t, len(err.Error()), 150)
}

func TestCaseVariants(t *testing.T) {
	variants := [][2]string{
		{"a", "A"}, {"METHOD", "method"}, {"s", "ſ"}, {"S", "ſ"}, {"k", "\u212a"}, {"é", "É"}, {"σ", "ς"}, {"ß", "ẞ"},
		{"å", "\u212b"}, {"\\u0061", "A"}, {"params", "paramſ"}, {"_meta", "_META"},
	}
	for _, pair := range variants {
		for filler := range 80 {
			object := `{"` + pair[0] + `":1,` + members("f", filler) + `"` + pair[1] + `":2}`
			_, err := walk(object)
			require.ErrorIs(t, err, strictjson.ErrAmbiguous, object)
			require.NoError(t, skip(object))
			_, err = walk(`{"raw":` + object + `}`)
			require.NoError(t, err, "raw values keep their case: %s", object)
		}
	}
	for _, object := range []string{`{"ı":1,"i":2}`, `{"İ":1,"i":2}`, `{"ss":1,"ß":2}`, `{"é":1,"e":2}`, `{"a":1,"a ":2}`, `{"ﬁ":1,"fi":2}`} {
		names, err := walk(object)
		require.NoError(t, err, object)
		assert.Len(t, names, 2)
	}
}

// members returns n members with a comma behind each.
func members(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%s%d":%d,`, prefix, i, i)
	}
	return b.String()
}

func TestLargeObjects(t *testing.T) {
	for _, n := range []int{15, 16, 17, 30, 31, 32, 33, 34, 100, 20_000} {
		unique := members("m", n) + `"last":1`
		require.NoError(t, skip(`{`+unique+`}`))
		names, err := walk(`{` + unique + `}`)
		require.NoError(t, err)
		assert.Len(t, names, n+1)

		for _, twice := range []string{"m0", "m7", fmt.Sprint("m", n-1), "last", `\u006d0`} {
			text := `{` + unique + `,"` + twice + `":2}`
			require.ErrorIs(t, skip(text), strictjson.ErrAmbiguous, "%d members and %s", n, twice)
			_, err := walk(text)
			require.ErrorIs(t, err, strictjson.ErrAmbiguous)
		}
		_, err = walk(`{` + unique + `,"M0":2}`)
		require.ErrorIs(t, err, strictjson.ErrAmbiguous)
		require.NoError(t, skip(`{`+unique+`,"M0":2}`))
	}
}

func TestLargeObjectsInsideOneAnother(t *testing.T) {
	inner := `{` + members("m", 50) + `"last":1}`
	outer := members("m", 40) + `"o":` + inner + `,"p":[` + inner + `,` + inner + `]`
	require.NoError(t, skip(`{`+outer+`}`))
	require.ErrorIs(t, skip(`{`+outer+`,"m3":1}`), strictjson.ErrAmbiguous)
	require.NoError(t, skip(`{`+outer+`,"last":1}`), "the name of an inner object is free")
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`""`: "", `"a b"`: "a b", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0041\u00e9\u6f22"`: "Aé漢",
		`"x\ud83d\ude00y"`: "x😀y", `"\uD800\uDC00\uDBFF\uDFFF"`: "\U00010000\U0010FFFF", `"é\n漢"`: "é\n漢", `"\u0000"`: "\x00",
	} {
		err := strictjson.Parse([]byte(text), func(r *strictjson.Reader) error {
			assert.Equal(t, byte('"'), r.Kind())
			got, ok, err := r.Text()
			assert.True(t, ok)
			assert.Equal(t, want, got)
			return err
		})
		require.NoError(t, err, text)
	}
	for _, text := range []string{`1`, `null`, `["a"]`, `{"a":"b"}`, `true`} {
		err := strictjson.Parse([]byte(text), func(r *strictjson.Reader) error {
			got, ok, err := r.Text()
			assert.False(t, ok, text)
			assert.Empty(t, got, text)
			return err
		})
		require.NoError(t, err, "other values are consumed: %s", text)
	}
}

func TestBytesAliasTheText(t *testing.T) {
	text := []byte(`"plain"`)
	err := strictjson.Parse(text, func(r *strictjson.Reader) error {
		content, ok, err := r.Bytes()
		require.True(t, ok)
		assert.Same(t, &text[1], &content[0])
		return err
	})
	require.NoError(t, err)
}

func TestValueAliasesTheText(t *testing.T) {
	text := []byte(`{"a": [1, {"b":"c"}] , "d":2}`)
	got := map[string]string{}
	err := strictjson.Parse(text, func(r *strictjson.Reader) error {
		_, err := r.Object(func(name []byte) error {
			value, err := r.Value()
			got[string(name)] = string(value)
			return err
		})
		return err
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": `[1, {"b":"c"}]`, "d": "2"}, got)
}

func TestObjectSkipsOtherValues(t *testing.T) {
	for _, text := range []string{`1`, `null`, `"{}"`, `[{"a":1}]`} {
		err := strictjson.Parse([]byte(text), func(r *strictjson.Reader) error {
			ok, err := r.Object(func([]byte) error { return errors.New("no member") })
			assert.False(t, ok, text)
			return err
		})
		require.NoError(t, err, text)
	}
}

func TestKind(t *testing.T) {
	for text, want := range map[string]byte{
		`{}`: '{', `[]`: '[', `""`: '"', `true`: 't', `false`: 'f', `null`: 'n', `7`: '0', `-7`: '0', ``: 0, `x`: 0, `+1`: 0, "\x00": 0, ` 0`: '0',
	} {
		_ = strictjson.Parse([]byte(text), func(r *strictjson.Reader) error {
			assert.Equal(t, want, r.Kind(), "%q", text)
			return nil
		})
	}
}

func TestParseReturnsTheErrorOfRead(t *testing.T) {
	stop := errors.New("stop")
	err := strictjson.Parse([]byte(`{"a":1,"a":2}`), func(r *strictjson.Reader) error {
		_, err := r.Object(func([]byte) error { return stop })
		return err
	})
	assert.Equal(t, stop, err)
	require.NoError(t, skip(`{"a":1}`), "nothing is left of an earlier text")
}
