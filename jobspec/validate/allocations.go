package validate

import (
	"fmt"
	"math"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// DefaultMaxAllocs is the default limit of a job's allocations.
const DefaultMaxAllocs = 10_000

// Allocations checks that the groups of a job and their canaries have no more
// than limit allocations in total. It only walks through the groups, so it is
// safe to call before any work for each allocation. The first diagnostic is the
// error, if there is one; warnings concern groups that cannot be scaled to
// their maximum.
func Allocations(job *api.Job, limit int) (diagnostics jobspec.Diagnostics) {
	if total := allocations(job); total > limit {
		diagnostics = append(diagnostics, tooMany(job, total, limit))
	}
	for tg, at := range blocks(job.TaskGroups, "group", jobspec.Root) {
		if s := tg.Scaling; s != nil && deref(s.Max) > int64(limit) {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning, Path: at.Attr("scaling").Attr("max"), Summary: "scaling max is above the limit",
				Detail: fmt.Sprintf("max is %d, and a job may have at most %s", *s.Max, plural(limit)),
				Remedy: "lower max, or raise the limit with --max-allocs",
			})
		}
	}
	return diagnostics
}

// tooMany returns the error about the group with the most allocations.
func tooMany(job *api.Job, total, limit int) jobspec.Diagnostic {
	largest := 0
	for i, tg := range job.TaskGroups {
		if ofGroup(tg) > ofGroup(job.TaskGroups[largest]) {
			largest = i
		}
	}
	tg, at := job.TaskGroups[largest], jobspec.Root.Index("group", largest)
	count, canaries := deref(tg.Count), deref(orEmpty(tg.Update).Canary)
	at, detail := at.Attr("count"), fmt.Sprintf("count of group %q is %d", deref(tg.Name), count)
	if canaries > 0 {
		detail += fmt.Sprintf(" and its canary is %d", canaries)
	}
	if canaries > count {
		update := (&group{at: jobspec.Root.Index("group", largest)}).merged("update")
		at = update.at("canary", same(tg.Update.Canary, orEmpty(job.Update).Canary))
	}
	if ofGroup(tg) <= limit {
		detail += fmt.Sprintf(", and all groups have %s", plural(total))
	}
	return jobspec.Diagnostic{
		Path: at, Summary: "job has too many allocations", Detail: fmt.Sprintf("%s; a job may have at most %s", detail, plural(limit)),
		Remedy: "lower the count, or raise the limit with --max-allocs",
	}
}

// allocations returns how many allocations the groups of a job may have in
// total, limited to math.MaxInt.
func allocations(job *api.Job) int {
	total := 0
	for _, tg := range job.TaskGroups {
		total = sum(total, ofGroup(tg))
	}
	return total
}

// ofGroup returns how many allocations a group may have at a time. A system job
// is no exception: its only valid count is 1.
func ofGroup(tg *api.TaskGroup) int {
	tg = orEmpty(tg)
	return sum(deref(tg.Count), deref(orEmpty(tg.Update).Canary))
}

// sum adds counts without overflow. A negative count counts as 0.
func sum(a, b int) int {
	a, b = max(a, 0), max(b, 0)
	return a + min(b, math.MaxInt-a)
}

func plural(allocs int) string {
	if allocs == 1 {
		return "1 allocation"
	}
	return fmt.Sprintf("%d allocations", allocs)
}
