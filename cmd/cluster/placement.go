package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Unplaced returns why allocations of a job could not be placed, with a line
// for each group.
func Unplaced(job string, groups map[string]*api.AllocationMetric) (lines []string) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		m := groups[group]
		what := "1 allocation is not placed"
		if n := m.CoalescedFailures + 1; n > 1 {
			what = fmt.Sprintf("%d allocations are not placed", n)
		}
		lines = append(lines, fmt.Sprintf("job %s: group %q: %s: %s", job, group, what, strings.Join(reasons(m), "; ")))
	}
	return lines
}

func reasons(m *api.AllocationMetric) (all []string) {
	count := func(of map[string]int, format string) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			all = append(all, fmt.Sprintf(format, nodes(of[name]), name))
		}
	}
	if m.NodesEvaluated == 0 {
		all = append(all, "no node was eligible")
	}
	for _, dc := range slices.Sorted(maps.Keys(m.NodesAvailable)) {
		if m.NodesAvailable[dc] == 0 {
			all = append(all, fmt.Sprintf("datacenter %q has no node", dc))
		}
	}
	count(m.ConstraintFiltered, "%s failed constraint %q")
	count(m.ClassFiltered, "%s of class %q did not fit")
	count(m.ClassExhausted, "%s of class %q had no room")
	count(m.DimensionExhausted, "%s lacked %q")
	for _, quota := range m.QuotaExhausted {
		all = append(all, fmt.Sprintf("quota %q is used up", quota))
	}
	if len(all) == 0 {
		all = append(all, nodes(m.NodesEvaluated)+" did not fit")
	}
	return all
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
