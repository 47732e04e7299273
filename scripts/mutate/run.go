package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// run tries a sample, or a line, and reports the survivors.
func run(ctx context.Context, o options, out io.Writer) error {
	equivalents, err := readEquivalents(equivalentText)
	if err != nil {
		return err
	}
	packages, err := load(ctx, strings.Fields(o.packages))
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
		t.coverage, err = measure(ctx, o.coverage, o.parallel, o.long, out)
	} else {
		err = t.unmutated(ctx, strata)
	}
	if err != nil {
		return err
	}
	if err := concurrently(ctx, o.parallel, strata, t.some); err != nil {
		return err
	}
	t.report()
	return nil
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

type options struct {
	seed        uint64
	n, parallel int
	packages    string
	at, results string
	coverage    string
	long        time.Duration // how long tests may take before each of them is measured by itself
	own         bool
	timeout     time.Duration
}
