package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

func writeHeader(w io.Writer) {
	fmt.Fprintln(w, "| fault | calls | failed, by code | started twice | longest answer | longest silence | promises |")
	fmt.Fprintln(w, "|---|--:|---|---|--:|--:|---|")
}

// writeRow writes what a scenario has come to.
func writeRow(w io.Writer, r *run) {
	verdict := "kept"
	if n := len(r.broken); n > 0 {
		verdict = fmt.Sprintf("%d broken", n)
	}
	fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s |\n", r.name, len(r.calls), failures(r.failures()), repeats(&r.evidence),
		round(r.longestAnswer()), round(r.longestSilence()), verdict)
}

// report writes what a table does not hold, and returns how many promises were
// broken.
func report(w io.Writer, runs []*run) (broken int) {
	for _, r := range runs {
		broken += len(r.broken)
		if len(r.notes)+len(r.broken) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", r.name)
		for _, note := range r.notes {
			fmt.Fprintf(w, "  %s\n", note)
		}
		for _, err := range r.broken {
			fmt.Fprintf(w, "  BROKEN: %v\n", err)
		}
		if len(r.broken) > 0 {
			fmt.Fprintf(w, "%s", r.complaints())
		}
	}
	return broken
}

func failures(count map[outcome]int) string {
	var all []string
	total := 0
	for _, o := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d × %s", count[o], o))
		total += count[o]
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(all, ", "))
}

// repeats tells apart the calls that must not run twice and those that may.
func repeats(e *evidence) string {
	text := fmt.Sprint(len(e.twice(false)))
	if n := len(e.twice(true)); n > 0 {
		text += fmt.Sprintf(", and %d that may be", n)
	}
	return text
}
