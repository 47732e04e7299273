// Package validate checks a decoded job against the rules that Nomad applies
// when a job is registered, and reports all violations at once. It only
// examines the job, not the machine, files, or config blocks of drivers.
//
// The rules are those of the job specification,
// https://developer.hashicorp.com/nomad/docs/job-specification.
package validate

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// Job checks a job on which Canonicalize was called and returns its diagnostics
// in the order of the job. Each one has a Path but no Range, which File.Place
// adds. The job is not changed.
//
// An Error is something that a Nomad server refuses, or that is certain to fail
// later. A Warning is something that Nomad accepts but drops, ignores or
// resolves in a different way than it reads. A Hint is advice: to add an
// attribute, to use a newer form, or to remove a deprecated attribute that
// Nomad no longer reads.
//
// Written are the positions of the job in its source. They show which
// attributes are written; without them, attributes with zero values are assumed
// not to be.
func Job(job *api.Job, written jobspec.Positions) jobspec.Diagnostics {
	c := &checker{job: job, written: written, kind: deref(job.Type), seen: map[jobspec.Diagnostic]bool{}}
	c.identification()
	c.placement(job.Constraints, job.Affinities, job.Spreads, jobspec.Root)
	c.periodic()
	c.parameterized()
	c.interpolations()
	c.groups()
	c.autoPromote()
	return c.diagnostics
}

// groups checks every group, and the rules between groups.
func (c *checker) groups() {
	if len(c.job.TaskGroups) == 0 {
		c.refuse(jobspec.Root, "job has no group", "", `add group "NAME" { task "NAME" { … } }`)
	}
	first := make(map[string]int, len(c.job.TaskGroups))
	total := 0
	for i, tg := range c.job.TaskGroups {
		tg = orEmpty(tg)
		at := jobspec.Root.Index("group", i)
		name := deref(tg.Name)
		if other, ok := first[name]; ok && name != "" {
			c.refuse(at, fmt.Sprintf("group %q is defined twice", name),
				fmt.Sprintf("groups %d and %d of the job have the same name", other+1, i+1), "rename one of them")
		} else {
			first[name] = i
		}
		total = sum(total, deref(tg.Count))
		newGroup(c, tg, at).check()
	}
	if total > maxCount {
		c.warn(jobspec.Root, "job has too many allocations",
			fmt.Sprintf("the counts of its groups add up to %d; a Nomad server refuses more than %d unless it is set up for it", total, maxCount), "")
	}
}
