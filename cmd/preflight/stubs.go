package preflight

import (
	"fmt"
	"slices"
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// stubTargets finds task blocks in the stubs that match no task. Such a block
// may be for another job file, unless it names one of these jobs or looks
// misspelled.
func stubTargets(c *Case) (diagnostics jobspec.Diagnostics) {
	known := map[string]bool{} // jobs
	var tasks []string
	for _, f := range c.Files {
		if f.Job == nil {
			return nil // the tasks of the block's job are unknown
		}
		known[*f.Job.ID] = true
		for _, g := range f.Job.TaskGroups {
			for _, t := range g.Tasks {
				tasks = append(tasks, t.Name)
			}
		}
	}
	for i, t := range c.Stubs.Tasks {
		steps := strings.Split(t.Target, "/")
		near := diagnostic.Nearest(steps[len(steps)-1], tasks)
		p := jobspec.Diagnostic{Summary: fmt.Sprintf("there is no task %q", t.Target), Range: t.At}
		if near != "" {
			p.Remedy = fmt.Sprintf("did you mean %q?", near)
		}
		switch {
		case c.changes.Tasks[i]:
		case len(steps) == 3 && known[steps[0]]:
			diagnostics = append(diagnostics, p)
		case near != "":
			p.Severity = jobspec.Warning
			diagnostics = append(diagnostics, p)
		}
	}
	return diagnostics
}

// groupTargets reports what group blocks in the stubs change, and those that
// name one of the jobs, but none of its groups.
func groupTargets(c *Case) jobspec.Diagnostics {
	diagnostics := slices.Clone(c.changes.Diagnostics)
	for i, g := range c.Stubs.Groups {
		if c.changes.Groups[i] {
			continue
		}
		for _, f := range withJobs(c.Files) {
			if g.IsFor(*f.Job.ID) {
				diagnostics = append(diagnostics, jobspec.Diagnostic{Summary: fmt.Sprintf("there is no group %q", g.Target), Range: g.At})
			}
		}
	}
	return diagnostics
}
