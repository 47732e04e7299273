package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed equivalent.txt
var equivalentText string

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

// run tries a sample, or a line, and reports the survivors.
func run(ctx context.Context, o options, out io.Writer) error {
	equivalents, err := readEquivalents(equivalentText)
	if err != nil {
		return err
	}
	packages, err := load(ctx, o.words())
	if err != nil {
		return err
	}
	if o.own {
		for _, p := range packages {
			p.importers = nil
		}
	}
	strata := sample(packages, o.n, o.seed)
	if o.at != "" {
		strata = line(packages, o.at)
	}
	t := &trial{timeout: o.timeout, equivalents: equivalents, out: out, save: io.Discard, known: map[string]result{}}
	for _, s := range strata {
		t.total += s.n
	}
	if t.total == 0 {
		return errors.New("there is nothing to mutate")
	}
	if o.results != "" {
		file, err := t.resume(o.results)
		if err != nil {
			return err
		}
		defer file.Close()
	}
	if o.coverage != "" {
		t.coverage, err = measure(ctx, o.coverage, o.long, out)
	} else {
		err = t.unmutated(ctx, strata)
	}
	if err != nil {
		return err
	}
	if err := t.all(ctx, strata, o.parallel); err != nil {
		return err
	}
	t.report()
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

// unmutated runs the tests without a mutant, in the same environment: a test
// that fails then proves nothing.
func (t *trial) unmutated(ctx context.Context, strata []stratum) error {
	var packages []string
	for _, s := range strata {
		packages = append(append(packages, s.ImportPath), s.importers...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	fmt.Fprintf(t.out, "running the tests of %d packages unmutated\n", len(packages))
	dir, env, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var why string
	for range 3 { // under load a test may fail by chance; passed ones are cached
		var ok bool
		if ok, why = passes(ctx, t.timeout*time.Duration(len(packages)), "", env, t.test(packages...)...); ok {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("the tests fail without a mutant: %s", why), ctx.Err())
}

// all tries the mutants of each stratum, several strata concurrently.
func (t *trial) all(ctx context.Context, strata []stratum, parallel int) error {
	next := make(chan stratum, len(strata))
	for _, s := range strata {
		next <- s
	}
	close(next)
	errs := make([]error, max(1, parallel))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for s := range next {
				if errs[i] = t.some(ctx, s); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// some tries mutants of one package until enough of them count.
func (t *trial) some(ctx context.Context, s stratum) error {
	count := 0
	for _, m := range s.mutants {
		if count == s.n {
			return nil
		}
		began := time.Now()
		r, known := t.known[m.String()]
		if !known {
			v, by, err := t.try(ctx, s.pkg, m)
			if err != nil {
				return err
			}
			r = result{s.ImportPath, m.String(), m.name(), v, by}
		}
		if r.Verdict == caught || r.Verdict == survived {
			count++
		}
		if err := t.add(r, time.Since(began), known); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total -= s.n - count // the package has no more
	return nil
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
