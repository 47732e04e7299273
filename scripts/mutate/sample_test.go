package main

import (
	"fmt"
	"slices"
	"testing"
)

// Every stratum has its share of a sample.
func TestShares(t *testing.T) {
	tests := []struct {
		n     int
		sizes []int
		want  []int
	}{
		{10, []int{100, 100}, []int{5, 5}},
		{10, []int{300, 100, 100}, []int{6, 2, 2}},
		{10, []int{1000, 1, 1}, []int{8, 1, 1}},
		{10, []int{3, 4}, []int{3, 4}},
		{2, []int{5, 9, 7}, []int{0, 1, 1}},
		{0, []int{5}, []int{0}},
	}
	for _, tt := range tests {
		if got := shares(tt.n, tt.sizes); !slices.Equal(got, tt.want) {
			t.Errorf("%d of %v: %v, want %v", tt.n, tt.sizes, got, tt.want)
		}
	}
}

// A seed always gives the same sample of a package, independently of other
// packages.
func TestShuffle(t *testing.T) {
	order := func(path string, seed uint64) string {
		p := &pkg{ImportPath: path}
		for i := range 50 {
			p.mutants = append(p.mutants, mutant{line: i})
		}
		p.shuffle(seed)
		var lines []int
		for _, m := range p.mutants {
			lines = append(lines, m.line)
		}
		return fmt.Sprint(lines)
	}
	first, again := order("a", 1), order("a", 1)
	if first != again {
		t.Error("one seed gave two orders")
	}
	if first == order("a", 2) || first == order("b", 1) {
		t.Error("two seeds, or two packages, have the same order")
	}
}
