// Command examples reads the example messages of the specification with the
// types of this program. They come from a checkout of the specification, whose
// schema/2026-07-28 -dir names.
//
//	go run ./test/examples -dir DIR
//
// What is encoded again must be the same JSON value, requests must be accepted,
// and each must be refused without any one member that the schema requires.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

func main() {
	dir := flag.String("dir", "", "the specification's `folder` with schema.json and examples")
	flag.Parse()
	if err := run(*dir, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(1)
	}
}

// run prints a line for each kind of message, and returns what is wrong.
func run(dir string, out io.Writer) error {
	s, err := readSchema(filepath.Join(dir, "schema.json"))
	if err != nil {
		return err
	}
	folders, err := os.ReadDir(filepath.Join(dir, "examples"))
	if err != nil {
		return err
	}
	var problems []error
	var all tally
	for _, folder := range folders {
		t, err := check(s, filepath.Join(dir, "examples", folder.Name()))
		problems = append(problems, err)
		fmt.Fprintf(out, "%-40s %s\n", folder.Name(), t)
		all = all.plus(t)
	}
	fmt.Fprintf(out, "%-40s %s\n", "all", all)
	if all.decoded == 0 {
		problems = append(problems, errors.New("there are no examples"))
	}
	return errors.Join(problems...)
}

// A tally counts examples, and the requests that were refused for want of one
// member.
type tally struct{ decoded, apart, refused int }

func (t tally) plus(u tally) tally {
	return tally{t.decoded + u.decoded, t.apart + u.apart, t.refused + u.refused}
}

func (t tally) String() string {
	var parts []string
	for _, part := range []struct {
		count int
		what  string
	}{{t.decoded, "decoded"}, {t.apart, "not a kind we handle"}, {t.refused, "refused without a member"}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// check checks the examples of one kind.
func check(s schema, folder string) (t tally, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return t, err
	}
	kind, handled := kinds()[filepath.Base(folder)]
	var problems []error
	for _, file := range files {
		name := filepath.Join(filepath.Base(folder), filepath.Base(file))
		reason, excepted := apart[name]
		if !handled {
			t.apart++
			continue
		}
		example, err := os.ReadFile(file)
		if err != nil {
			return t, err
		}
		err = roundTrip(kind.codec, example)
		switch {
		case excepted && err == nil:
			err = fmt.Errorf("is no exception any more: %s", reason)
		case excepted:
			t.apart++
			continue
		case err == nil && kind.request != "":
			var refused int
			refused, err = s.checkRequest(fmt.Appendf(nil, kind.request, example))
			t.refused += refused
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		t.decoded++
	}
	return t, errors.Join(problems...)
}

// roundTrip decodes an example, encodes it again and compares.
func roundTrip(c codec, example []byte) error {
	encoded, err := c(example)
	if err != nil {
		return err
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(example, &want), json.Unmarshal(encoded, &got)); err != nil {
		return err
	}
	if !reflect.DeepEqual(essence(want, ""), essence(got, "")) {
		return fmt.Errorf("became %s", encoded)
	}
	return nil
}

// essence is value without the members that make no difference.
func essence(value any, path string) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			at := path + "/" + name
			if makesNoDifference(at, member) {
				delete(value, name)
				continue
			}
			value[name] = essence(member, at)
		}
	case []any:
		for i, element := range value {
			value[i] = essence(element, path)
		}
	}
	return value
}

// makesNoDifference tells of members with their default value, and of those
// that the server takes and never uses.
func makesNoDifference(path string, member any) bool {
	switch {
	case strings.HasSuffix(path, "/isError"):
		return member == false
	case strings.HasSuffix(path, "/mode"):
		return member == "form"
	}
	return path == "/params/reason" || path == "/reason" || strings.HasSuffix(path, "_meta/io.modelcontextprotocol/clientInfo")
}
