package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// A verdict is the result of trying a mutant.
type verdict string

const (
	caught       verdict = "caught"
	survived     verdict = "survived"
	equivalent   verdict = "equivalent"
	uncompilable verdict = "uncompilable"
)

// A result is the verdict of one mutant.
type result struct {
	Package string
	Mutant  string // as shown in a report
	Name    string // without the line number
	Verdict verdict
	By      string // output of the test that caught it, or why none could
}

// A trial tries mutants, several packages at a time.
type trial struct {
	timeout     time.Duration
	equivalents map[string]string // reasons by name
	coverage    *coverage         // nil: run the tests of packages
	out         io.Writer
	save        io.Writer

	mu      sync.Mutex
	known   map[string]result // results of an earlier run, by mutant
	results []result
	total   int
}

// count returns how many mutants of a package, or of all, were caught and how
// many survived.
func (t *trial) count(of string) (hit, missed int) {
	for _, r := range t.results {
		if of != "" && r.Package != of {
			continue
		}
		switch r.Verdict {
		case caught:
			hit++
		case survived:
			missed++
		case equivalent, uncompilable:
		}
	}
	return hit, missed
}

// add records a result, and shows it.
func (t *trial) add(r result, took time.Duration, known bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results = append(t.results, r)
	if !known {
		if err := json.NewEncoder(t.save).Encode(r); err != nil {
			return err
		}
	}
	if r.Verdict != uncompilable {
		caught, survived := t.count("")
		fmt.Fprintf(t.out, "%3d/%d %5.1fs %-10s %s  %s\n", caught+survived, t.total, took.Seconds(), r.Verdict, r.Mutant, r.By)
	}
	return nil
}

// resume reads the results of an earlier run from a file, and opens it for
// more.
func (t *trial) resume(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r result
		if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line may be incomplete
			t.known[r.Mutant] = r
		}
	}
	t.save = file
	return file, nil
}

//go:embed equivalent.txt
var equivalentText string

// readEquivalents parses lines of "NAME # REASON"; it ignores empty lines and
// comments.
func readEquivalents(text string) (map[string]string, error) {
	out := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, ok := strings.Cut(line, " # ")
		if !ok {
			return nil, fmt.Errorf("equivalent.txt:%d: no reason", i+1)
		}
		out[name] = reason
	}
	return out, nil
}

// report shows the survivors, and a table of the packages, worst first.
func (t *trial) report() {
	var packages []string
	for _, r := range t.results {
		packages = append(packages, r.Package)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	percent := func(of string) float64 {
		hit, missed := t.count(of)
		return 100 * float64(hit) / float64(max(1, hit+missed))
	}
	slices.SortStableFunc(packages, func(a, b string) int { return int(100 * (percent(a) - percent(b))) })

	fmt.Fprintln(t.out)
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PACKAGE\tMUTANTS\tCAUGHT\tSURVIVED\t%")
	for _, p := range append(packages, "") {
		hit, missed := t.count(p)
		if hit+missed == 0 {
			continue
		}
		title := p
		if p == "" {
			title = "all"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.0f\n", title, hit+missed, hit, missed, percent(p))
	}
	_ = w.Flush()
	fmt.Fprintln(t.out)
	for _, r := range t.results {
		if r.Verdict == survived {
			fmt.Fprintln(t.out, strings.TrimSpace("survived: "+r.Mutant+"  "+r.By))
		}
	}
}
