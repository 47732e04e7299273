package validate

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

const (
	maxPriority    = 100   // a server's default for job_max_priority
	maxCount       = 50000 // a server's default for job_max_count
	maxDescription = 1000  // bytes
)

func jobTypes() []string {
	return []string{api.JobTypeService, api.JobTypeBatch, api.JobTypeSystem, api.JobTypeSysbatch}
}

// identification checks what describes the job as a whole.
func (w *whole) identification() {
	w.jobNames()
	w.choice(jobspec.Root.Attr("type"), "job type", w.kind, jobTypes()...)
	for _, dc := range w.job.Datacenters {
		if dc == "" {
			w.refuse(jobspec.Root.Attr("datacenters"), "datacenter name is empty", "", `write "*" for any datacenter`)
		}
	}
	if p := deref(w.job.Priority); p < 0 || p > maxPriority {
		w.warn(jobspec.Root.Attr("priority"), "priority is out of range",
			fmt.Sprintf("a Nomad server refuses %d unless it is set up for it", p),
			fmt.Sprintf("write 1 to %d", maxPriority))
	}
	if w.job.Multiregion != nil {
		w.refuse(jobspec.Root.Attr("multiregion"), "multiregion needs Nomad Enterprise", "", "remove the block")
	}
	if ui := w.job.UI; ui != nil && len(ui.Description) > maxDescription {
		w.refuse(jobspec.Root.Attr("ui").Attr("description"), "description is too long",
			fmt.Sprintf("it has %d bytes", len(ui.Description)), fmt.Sprintf("keep it to %d bytes", maxDescription))
	}
}

func (w *whole) jobNames() {
	id, name := deref(w.job.ID), deref(w.job.Name)
	switch {
	case id == "":
		w.refuse(jobspec.Root.Attr("id"), "job has no ID", "", `name it in the header: job "NAME" { … }`)
	case strings.Contains(id, " "):
		w.refuse(jobspec.Root.Attr("id"), "job ID contains a space", fmt.Sprintf("%q", id),
			fmt.Sprintf("write %q", strings.ReplaceAll(id, " ", "-")))
	case strings.Contains(id, "\x00"):
		w.refuse(jobspec.Root.Attr("id"), "job ID contains a NUL character", fmt.Sprintf("%q", id), "")
	}
	switch {
	case name == "" && id != "":
		w.refuse(jobspec.Root.Attr("name"), "job name is empty", "", "remove the attribute or give it a value")
	case strings.Contains(name, "\x00"):
		w.refuse(jobspec.Root.Attr("name"), "job name contains a NUL character", fmt.Sprintf("%q", name), "")
	}
	if deref(w.job.Namespace) == "" {
		w.refuse(jobspec.Root.Attr("namespace"), "namespace is empty", "", `remove the attribute or write "default"`)
	}
	if deref(w.job.Region) == "" {
		w.refuse(jobspec.Root.Attr("region"), "region is empty", "", `remove the attribute or write "global"`)
	}
}

// groups checks every group and what holds between them.
func (w *whole) groups() {
	if len(w.job.TaskGroups) == 0 {
		w.refuse(jobspec.Root, "job has no group", "", `add group "NAME" { task "NAME" { … } }`)
	}
	first := make(map[string]int, len(w.job.TaskGroups))
	total := 0
	for i, tg := range w.job.TaskGroups {
		tg = orEmpty(tg)
		at := jobspec.Root.Index("group", i)
		name := deref(tg.Name)
		if other, ok := first[name]; ok && name != "" {
			w.refuse(at, fmt.Sprintf("group %q is defined twice", name),
				fmt.Sprintf("groups %d and %d of the job have the same name", other+1, i+1), "rename one of them")
		} else {
			first[name] = i
		}
		total = add(total, deref(tg.Count))
		newGroup(w.checker, tg, at).check()
	}
	if total > maxCount {
		w.warn(jobspec.Root, "job has too many allocations",
			fmt.Sprintf("the counts of its groups add up to %d; a Nomad server refuses more than %d unless it is set up for it", total, maxCount), "")
	}
}

// autoPromote warns of groups that hold up the automatic promotion of others.
func (w *whole) autoPromote() {
	promoted := ""
	for _, tg := range w.job.TaskGroups {
		if tg != nil && tg.Update != nil && deref(tg.Update.AutoPromote) {
			promoted = deref(tg.Name)
		}
	}
	if promoted == "" {
		return
	}
	for i, tg := range w.job.TaskGroups {
		if u := orEmpty(tg).Update; u != nil && deref(u.Canary) > 0 && !deref(u.AutoPromote) {
			w.warn(jobspec.Root.Index("group", i).Attr("update").Attr("auto_promote"), "canaries are not promoted automatically",
				fmt.Sprintf("group %q sets auto_promote and group %q, which has canaries, does not: nothing is promoted until both do", promoted, deref(tg.Name)),
				"set auto_promote = true in every group with canaries")
		}
	}
}
