package play

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest"
	"taskrun/jobspec"
)

// Check checks a test file against its job. Runs that give the job the same
// variables share one job.
func (p *Player) Check(ctx context.Context, f *jobtest.File) (diagnostics jobspec.Diagnostics, err error) {
	var jobs []*api.Job
	made := map[string]bool{}
	for _, r := range f.Runs {
		key := jobKey(r)
		if made[key] {
			continue
		}
		made[key] = true
		prepared, found, err := p.Prepare(ctx, f, r)
		if err != nil {
			return nil, err
		}
		diagnostics = addNew(diagnostics, found.Errors())
		if prepared != nil {
			jobs = append(jobs, prepared.All()...)
		}
	}
	diagnostics = append(diagnostics, sameSnapshot(f)...)
	if !diagnostics.HasErrors() {
		diagnostics = append(diagnostics, f.Check(jobs...)...)
	}
	return diagnostics, nil
}

// jobKey is equal for runs of one file that have equal jobs.
func jobKey(r *jobtest.Run) string {
	var key strings.Builder
	fmt.Fprintln(&key, r.Mode)
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		fmt.Fprintf(&key, "%s %#v\n", name, r.Variables[name].Value)
	}
	for _, o := range r.Orders {
		if o.Verb == jobtest.Update {
			fmt.Fprintln(&key, o.File)
		}
	}
	return key.String()
}

// addNew adds the diagnostics that are not there yet.
func addNew(known, found jobspec.Diagnostics) jobspec.Diagnostics {
	for _, d := range found {
		if !slices.ContainsFunc(known, func(k jobspec.Diagnostic) bool { return k.Error() == d.Error() }) {
			known = append(known, d)
		}
	}
	return known
}

// sameSnapshot returns a diagnostic for each run that would overwrite the snapshot
// of another one, or whose events have other times each time.
func sameSnapshot(f *jobtest.File) (diagnostics jobspec.Diagnostics) {
	first := map[string]*jobtest.Run{}
	for _, r := range f.Runs {
		switch before := first[r.Snapshot]; {
		case r.Snapshot == "":
		case r.Mode == jobtest.Real:
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("the real run %q cannot have a snapshot", r.Name), Detail: "its events have other times each time",
				Remedy: `remove snapshot, or write mode = "virtual"`, Range: jobspec.RangeOf(r.Range),
			})
		case before != nil:
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("snapshot %q belongs to run %q already", r.Snapshot, before.Name), Remedy: "choose another name",
				Range: jobspec.RangeOf(r.Range),
			})
		default:
			first[r.Snapshot] = r
		}
	}
	return diagnostics
}
