// Testsum reads the output of `go test -json` from stdin, and summarizes it:
// the packages, the output of failed tests, the reason of each skipped test,
// and in the last line the number of tests. It exits with 1 if any test failed
// or none ran. For each argument, such as "docker", it also reports the number
// of tests with that word in their package or name.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	sum := newSummary(os.Stdout, os.Args[1:]...)
	if err := sum.read(os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "testsum: cannot read the tests' events: %v\n", err)
		os.Exit(1)
	}
	if !sum.close() {
		os.Exit(1)
	}
}

// An event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// A test is identified by package and name; the name of the package itself is
// empty.
type test struct{ pkg, name string }

// A summary counts tests, including subtests, and prints the essentials.
type summary struct {
	out      io.Writer
	running  map[test]*strings.Builder // output of unfinished tests
	failures map[string]int            // of a package
	skips    []string
	words    []string                  // the last one, "", is in each test
	counts   map[string]map[string]int // number of tests by word and action
}

func newSummary(out io.Writer, words ...string) *summary {
	s := &summary{out: out, running: map[test]*strings.Builder{}, failures: map[string]int{}, words: append(words, ""), counts: map[string]map[string]int{}}
	for _, word := range s.words {
		s.counts[word] = map[string]int{}
	}
	return s
}

// read processes events until the end of the input. Lines that are not events,
// such as those of a failed build, are passed on.
func (s *summary) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil || e.Action == "":
			fmt.Fprintf(s.out, "%s", line)
		default:
			s.add(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (s *summary) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "run", "start":
		s.running[t] = &strings.Builder{}
	case "output":
		if b := s.running[t]; b != nil {
			b.WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(t, e.Action)
		}
		delete(s.running, t)
	}
}

func (s *summary) endTest(t test, action string) {
	output := ""
	if b := s.running[t]; b != nil {
		output = b.String()
	}
	for _, word := range s.words {
		if strings.Contains(strings.ToLower(t.pkg+" "+t.name), word) {
			s.counts[word][action]++
		}
	}
	switch action {
	case "skip":
		s.skips = append(s.skips, fmt.Sprintf("%s %s: %s", t.pkg, t.name, reason(output)))
	case "fail":
		s.failures[t.pkg]++
		fmt.Fprint(s.out, output)
	}
}

// endPackage prints a package's last line, or all of its output if it failed. A
// package may fail without a failed test, because it does not build, panics, or
// takes too long; that counts as one.
func (s *summary) endPackage(e event) {
	output := ""
	if b := s.running[test{e.Package, ""}]; b != nil {
		output = b.String()
	}
	switch e.Action {
	case "pass":
		lines := strings.SplitAfter(strings.TrimSpace(output), "\n")
		fmt.Fprintln(s.out, lines[len(lines)-1])
	case "fail":
		for _, t := range s.unfinished(e.Package) {
			s.endTest(t, "fail")
			delete(s.running, t)
		}
		if s.failures[e.Package] == 0 {
			s.counts[""]["fail"]++
		}
		fmt.Fprint(s.out, output)
	}
}

// unfinished lists the tests of a package that have started but not ended.
func (s *summary) unfinished(pkg string) []test {
	tests := slices.Collect(maps.Keys(s.running))
	tests = slices.DeleteFunc(tests, func(t test) bool { return t.pkg != pkg || t.name == "" })
	slices.SortFunc(tests, func(a, b test) int { return strings.Compare(a.name, b.name) })
	return tests
}

// close prints the skipped tests and the counts, and reports whether everything
// is fine.
func (s *summary) close() bool {
	for _, skip := range s.skips {
		fmt.Fprintf(s.out, "skipped: %s\n", skip)
	}
	for _, word := range s.words {
		c := s.counts[word]
		if word != "" {
			word += ": "
		}
		fmt.Fprintf(s.out, "%s%d passed, %d failed, %d skipped\n", word, c["pass"], c["fail"], c["skip"])
	}
	return s.counts[""]["fail"] == 0 && s.counts[""]["pass"] > 0
}

// reason extracts the reason from the output of a skipped test.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
