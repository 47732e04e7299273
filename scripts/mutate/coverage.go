package main

import (
	"bufio"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A coverage tells which tests run which statements of the module.
type coverage struct {
	dirs  map[string]string // directories of packages
	whole map[string]*unit  // all tests of a package
	units []*unit           // the smallest that were measured
}

// A unit is the tests that are run at a time: those of a package, one of them,
// or one of its subtests.
type unit struct {
	Package string
	Test    string // "" means all
	Seconds float64
	Parts   []string           // smaller units, if this one takes long
	Blocks  map[string][]block // what it runs, by file
}

// A block is a sequence of statements: from the first position to before the
// second one.
type block [2]position

// covers reports whether the unit runs the statement of a mutant. What is
// outside of functions runs with anything of its package.
func (u *unit) covers(m mutant) bool {
	if m.statement == (position{}) {
		for file := range u.Blocks {
			if path.Dir(file) == path.Dir(m.file) {
				return true
			}
		}
	}
	return slices.ContainsFunc(u.Blocks[m.file], func(b block) bool {
		return !m.statement.before(b[0]) && m.statement.before(b[1])
	})
}

// parent returns the test that a subtest belongs to, and "" for a test.
func (u *unit) parent() string { return u.Test[:max(0, strings.LastIndexByte(u.Test, '/'))] }

// A batch is units of one package that run in one process.
type batch []*unit

// pattern returns the regular expression that selects the tests of a batch.
func (b batch) pattern() string {
	if b[0].Test == "" {
		return "."
	}
	var parents, names []string
	for name := range strings.SplitSeq(b[0].parent(), "/") {
		if name != "" {
			parents = append(parents, "^"+regexp.QuoteMeta(name)+"$")
		}
	}
	for _, u := range b {
		names = append(names, regexp.QuoteMeta(path.Base(u.Test)))
	}
	return strings.Join(append(parents, "^("+strings.Join(names, "|")+")$"), "/")
}

func (b batch) seconds() (sum float64) {
	for _, u := range b {
		sum += u.Seconds
	}
	return sum
}

// atOnce is how many tests a batch has at most: the first failure ends the
// search, and the shortest tests come first.
const atOnce = 10

// batches returns what may notice a mutant: the tests of its package, and then
// those of other packages that run its statement, the shortest first. Of a
// package that takes long, only those tests count that run the statement.
func (c *coverage) batches(m mutant, of string) []batch {
	var units []*unit
	cost := map[string]float64{} // by package and parent
	key := func(u *unit) string { return u.Package + " " + u.parent() }
	for _, u := range c.units {
		if u.covers(m) || u.Package == of && u.Test == "" {
			units = append(units, u)
			cost[key(u)] += u.Seconds
		}
	}
	foreign := func(u *unit) int {
		if u.Package == of {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(units, func(a, b *unit) int {
		return cmp.Or(
			cmp.Compare(foreign(a), foreign(b)),
			cmp.Compare(cost[key(a)], cost[key(b)]), cmp.Compare(key(a), key(b)),
			cmp.Compare(a.Seconds, b.Seconds))
	})
	var out []batch
	for _, u := range units {
		last := len(out) - 1
		if last < 0 || len(out[last]) == atOnce || key(out[last][0]) != key(u) {
			out, last = append(out, nil), last+1
		}
		out[last] = append(out[last], u)
	}
	return out
}

// around returns the tests of a package, and those of its importers that were
// not measured test by test, because they do not take long. A process that such
// a test kills may run a statement that nothing seems to run.
func (c *coverage) around(p *pkg) (out []batch) {
	for _, of := range append([]string{p.ImportPath}, p.importers...) {
		if u := c.whole[of]; u != nil && (of == p.ImportPath || len(u.Parts) == 0) {
			out = append(out, batch{u})
		}
	}
	return out
}

// parse reads the blocks that ran from a profile of a module.
func parse(profile, module string) (map[string][]block, error) {
	out := map[string][]block{}
	for lines := bufio.NewScanner(strings.NewReader(profile)); lines.Scan(); {
		line, ran := strings.CutSuffix(lines.Text(), " 1")
		place, ok := strings.CutPrefix(line, module+"/")
		if !ran || !ok {
			continue
		}
		file, span, _ := strings.Cut(place, ":")
		var b block
		if _, err := fmt.Sscanf(span, "%d.%d,%d.%d", &b[0][0], &b[0][1], &b[1][0], &b[1][1]); err != nil {
			return nil, fmt.Errorf("%q in a profile: %w", line, err)
		}
		out[file] = append(out[file], b)
	}
	return out, nil
}
