package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

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
