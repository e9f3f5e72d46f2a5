package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompare(t *testing.T) {
	known := scenarios("# a comment\n\na\nb\n!c\n")
	found := func(scenario, status string) result {
		return result{scenario: scenario, checks: []check{{Status: "SUCCESS"}, {Status: status}}}
	}
	a, b, c := found("a", "SUCCESS"), found("b", "INFO"), found("c", "FAILURE")
	for want, results := range map[string][]result{
		"":           {a, b, c},
		"d: a fails": {found("a", "FAILURE"), b, c},
		"d: b fails": {a, found("b", "WARNING"), c},
		"d: c passes: take its mark away in scenarios.txt":     {a, b, found("c", "SUCCESS")},
		"d: x is new: add it to scenarios.txt":                 {a, b, c, found("x", "SUCCESS")},
		"d: b was not run":                                     {a, c},
		"d: c was not run":                                     {a, b},
		"d: a was not run\nd: b was not run\nd: c was not run": nil,
	} {
		err := compare("d", results, known)
		if want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, want)
	}
}

// leave makes a shell script a suite whose one scenario has a result.
const leave = `leave() { mkdir -p "$results" && echo '[{"status":"'$1'"}]' > "$results/checks.json"; }
results=$7/server-some-2026-07-28T00-00-00-000Z
`

// A suite that has not come to its end is told apart from one whose scenario has
// failed.
func TestSuiteThatEndsEarly(t *testing.T) {
	for script, ends := range map[string]bool{
		"leave SUCCESS":             true,
		"leave FAILURE; exit 1":     true,
		"exit 1":                    false,
		"leave SUCCESS; exit 1":     false,
		"leave FAILURE; kill -9 $$": false,
	} {
		t.Run(script, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "suite.sh")
			require.NoError(t, os.WriteFile(file, []byte(leave+script), 0o600))
			results, err := suite{node: "sh", script: file}.test(t.Context(), "", filepath.Join(dir, "results"), false, io.Discard)
			if ends {
				require.NoError(t, err)
				assert.Len(t, results, 1)
			} else {
				assert.ErrorContains(t, err, "the suite has not come to its end")
			}
		})
	}
}
