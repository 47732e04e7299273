package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// shares divides n mutants among strata in proportion to their sizes. Each
// stratum gets at least one if there are enough, and at most its size.
func shares(n int, sizes []int) []int {
	out := make([]int, len(sizes))
	for ; n > 0; n-- {
		// The largest quotient gets the next one, as in the apportionment of
		// seats to parties; a stratum without any comes first.
		best := -1
		for i, size := range sizes {
			if out[i] < size && (best < 0 || quotient(size, out[i]) > quotient(sizes[best], out[best])) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		out[best]++
	}
	return out
}

func quotient(size, has int) float64 {
	if has == 0 {
		return float64(size) + 1e9
	}
	return float64(size) / float64(has+1)
}

// shuffle puts the mutants of a package in the order in which a seed tries
// them, which does not depend on other packages.
func (p *pkg) shuffle(seed uint64) {
	h := fnv.New64a()
	fmt.Fprint(h, p.ImportPath)
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	r.Shuffle(len(p.mutants), func(i, j int) { p.mutants[i], p.mutants[j] = p.mutants[j], p.mutants[i] })
}

// A stratum is a package with the number of its mutants in a sample.
type stratum struct {
	*pkg
	n int
}

// sample returns the strata of a sample, largest first.
func sample(packages []*pkg, n int, seed uint64) []stratum {
	sizes := make([]int, len(packages))
	for i, p := range packages {
		p.shuffle(seed)
		sizes[i] = len(p.mutants)
	}
	var strata []stratum
	for i, share := range shares(n, sizes) {
		if share > 0 {
			strata = append(strata, stratum{packages[i], share})
		}
	}
	slices.SortStableFunc(strata, func(a, b stratum) int { return cmp.Compare(b.n, a.n) })
	return strata
}

// line returns every mutant of one line, as strata.
func line(packages []*pkg, at string) []stratum {
	for _, p := range packages {
		p.mutants = slices.DeleteFunc(p.mutants, func(m mutant) bool { return fmt.Sprintf("%s:%d", m.file, m.line) != at })
		if len(p.mutants) > 0 {
			return []stratum{{p, len(p.mutants)}}
		}
	}
	return nil
}
