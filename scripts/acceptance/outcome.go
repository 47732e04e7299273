package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// outcome is how a test ended.
type outcome string

const (
	passed  outcome = "passed"
	failed  outcome = "failed"
	skipped outcome = "skipped" // by itself
	leftOut outcome = "left-out"
)

// outputLines is how many of the last lines of a failed test are shown.
const outputLines = 15

func (r result) print(out io.Writer) {
	fmt.Fprintf(out, "%-8s %v", r.outcome, r.test)
	switch {
	case r.why != "":
		fmt.Fprintf(out, ": %s", r.why)
	case r.took > 0:
		fmt.Fprintf(out, " (%v)", r.took.Round(100*time.Millisecond))
	}
	fmt.Fprintln(out)
	lines := strings.Split(strings.TrimSpace(r.output), "\n")
	for _, line := range lines[max(0, len(lines)-outputLines):] {
		if line != "" {
			fmt.Fprintln(out, "   ", line)
		}
	}
}

// count prints how many tests of each suite had which outcome.
func count(out io.Writer, results []result) {
	counts := map[string]map[outcome]int{}
	for _, r := range results {
		if counts[r.suite] == nil {
			counts[r.suite] = map[outcome]int{}
		}
		counts[r.suite][r.outcome]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		fmt.Fprintf(out, "%s: %d passed, %d failed, %d skipped by themselves, %d left out\n",
			name, c[passed], c[failed], c[skipped], c[leftOut])
	}
}

func failedAny(results []result) bool {
	return slices.ContainsFunc(results, func(r result) bool { return r.outcome == failed })
}

// writeOutcomes writes a line for each test: its outcome, suite and name.
func writeOutcomes(file string, results []result) error {
	var text strings.Builder
	for _, r := range results {
		fmt.Fprintln(&text, r.outcome, r.test)
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// readOutcomes reads what writeOutcomes wrote: outcomes by suite and name.
func readOutcomes(file string) (map[string]outcome, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	expected := map[string]outcome{}
	for line := range strings.Lines(string(text)) {
		what, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not an outcome and a test", file, line)
		}
		expected[name] = outcome(what)
	}
	return expected, nil
}

// compare lists the outcomes that are not the expected ones, and reports whether
// there are none.
func compare(out io.Writer, expected map[string]outcome, results []result) (same bool) {
	same = true
	for _, r := range results {
		if was := expected[r.String()]; was != r.outcome {
			fmt.Fprintf(out, "%v: %s, expected: %s\n", r.test, r.outcome, was)
			same = false
		}
	}
	return same
}

// result is the outcome of a test; output is that of a failed one.
type result struct {
	test
	outcome outcome
	output  string
	took    time.Duration
}

func (r result) failed(output string) result {
	r.outcome, r.output = failed, output
	return r
}
