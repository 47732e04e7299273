package validate

import (
	"fmt"
	"strings"

	"taskrun/jobspec"
)

const (
	maxPriority    = 100   // a server's default for job_max_priority
	maxCount       = 50000 // a server's default for job_max_count
	maxDescription = 1000  // bytes
)

// identification checks the attributes that identify or describe the job.
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
