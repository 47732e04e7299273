// Package validate checks a decoded job against the rules that Nomad applies
// when a job is registered, and reports all violations at once. It only
// examines the job, not the machine, files, or config blocks of drivers.
//
// The rules are those of the job specification,
// https://developer.hashicorp.com/nomad/docs/job-specification.
package validate

import (
	"fmt"
	"strings"

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
	c := &checker{job: job, written: written, kind: deref(job.Type), findings: findings{seen: map[jobspec.Diagnostic]bool{}}}
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
		c.refuse(jobspec.Root, "job has no group", "", "add a group with a task")
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

const (
	maxPriority    = 100   // a server's default for job_max_priority
	maxCount       = 50000 // a server's default for job_max_count
	maxDescription = 1000  // bytes
)

func (c *checker) identification() {
	c.jobNames()
	c.choice(jobspec.Root.Attr("type"), "job type", c.kind, jobTypes()...)
	for _, dc := range c.job.Datacenters {
		if dc == "" {
			c.refuse(jobspec.Root.Attr("datacenters"), "datacenter name is empty", "", `write "*" for any datacenter`)
		}
	}
	if p := deref(c.job.Priority); p < 0 || p > maxPriority {
		c.warn(jobspec.Root.Attr("priority"), "priority is out of range",
			fmt.Sprintf("a Nomad server refuses %d unless it is set up for it", p),
			fmt.Sprintf("write 1 to %d", maxPriority))
	}
	if c.job.Multiregion != nil {
		c.refuse(jobspec.Root.Attr("multiregion"), "multiregion needs Nomad Enterprise", "", "remove the block")
	}
	if ui := c.job.UI; ui != nil && len(ui.Description) > maxDescription {
		c.refuse(jobspec.Root.Attr("ui").Attr("description"), "description is too long",
			fmt.Sprintf("it has %d bytes", len(ui.Description)), fmt.Sprintf("keep it to %d bytes", maxDescription))
	}
}

func (c *checker) jobNames() {
	id, name := deref(c.job.ID), deref(c.job.Name)
	switch {
	case id == "":
		c.refuse(jobspec.Root.Attr("id"), "job has no ID", "", `name it in the header: job "NAME" { … }`)
	case strings.Contains(id, " "):
		c.refuse(jobspec.Root.Attr("id"), "job ID contains a space", fmt.Sprintf("%q", id),
			fmt.Sprintf("write %q", strings.ReplaceAll(id, " ", "-")))
	case strings.Contains(id, "\x00"):
		c.refuse(jobspec.Root.Attr("id"), "job ID contains a NUL character", fmt.Sprintf("%q", id), "")
	}
	switch {
	case name == "" && id != "":
		c.refuse(jobspec.Root.Attr("name"), "job name is empty", "", "remove the attribute or give it a value")
	case strings.Contains(name, "\x00"):
		c.refuse(jobspec.Root.Attr("name"), "job name contains a NUL character", fmt.Sprintf("%q", name), "")
	}
	if deref(c.job.Namespace) == "" {
		c.refuse(jobspec.Root.Attr("namespace"), "namespace is empty", "", `remove the attribute or write "default"`)
	}
	if deref(c.job.Region) == "" {
		c.refuse(jobspec.Root.Attr("region"), "region is empty", "", `remove the attribute or write "global"`)
	}
}

// autoPromote warns about groups that prevent the automatic promotion of
// others.
func (c *checker) autoPromote() {
	promoted := ""
	for _, tg := range c.job.TaskGroups {
		if tg != nil && tg.Update != nil && deref(tg.Update.AutoPromote) {
			promoted = deref(tg.Name)
		}
	}
	if promoted == "" {
		return
	}
	for tg, at := range blocks(c.job.TaskGroups, "group", jobspec.Root) {
		if u := tg.Update; u != nil && deref(u.Canary) > 0 && !deref(u.AutoPromote) {
			c.warn(at.Attr("update").Attr("auto_promote"), "canaries are not promoted automatically",
				fmt.Sprintf("group %q sets auto_promote and group %q, which has canaries, does not: nothing is promoted until both do", promoted, deref(tg.Name)),
				"set auto_promote = true in every group with canaries")
		}
	}
}
