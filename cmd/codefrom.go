package cmd

import (
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
)

// codeFrom is the task that --exit-code-from names.
type codeFrom struct{ job, group, task string }

// String returns the task as the user may have named it.
func (c *codeFrom) String() string { return c.task }

// findCodeFrom looks a task up by [JOB/][GROUP/]TASK.
func findCodeFrom(name string, jobs []*api.Job) (*codeFrom, error) {
	var found []*codeFrom
	var all, matches []string
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			for _, t := range g.Tasks {
				full := *j.ID + "/" + *g.Name + "/" + t.Name
				all = append(all, full)
				if full == name || strings.HasSuffix(full, "/"+name) {
					found = append(found, &codeFrom{*j.ID, *g.Name, t.Name})
					matches = append(matches, full)
				}
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, usageError("cannot take the exit code from task %q: no job has it", name).
			withHint("tasks are: %s", strings.Join(all, ", "))
	case 1:
		return found[0], nil
	}
	return nil, usageError("cannot take the exit code from task %q: it may be %s", name, strings.Join(matches, " or "))
}

// code returns the exit code of the task when all its instances have ended for
// good: the worst of them.
func (c *codeFrom) code(run *fold.Run) (worst int, ended bool) {
	left := 0
	for _, j := range run.Jobs {
		if g := j.LookupTaskGroup(c.group); *j.ID == c.job && g != nil {
			left = fold.Instances(j, g)
		}
	}
	for _, a := range run.Final() {
		if !a.Of(c.job) || a.Group != c.group {
			continue
		}
		code, ok := c.codeIn(a)
		if !ok {
			return 0, false
		}
		worst = max(worst, code)
		left--
	}
	return worst, left <= 0
}

// codeIn returns the exit code of the task in an allocation when it has ended
// for good there: it will not run again in another one.
func (c *codeFrom) codeIn(a *fold.Alloc) (code int, ended bool) {
	failed := a.Status == api.AllocClientStatusFailed
	for _, t := range a.Tasks {
		if t.Name != c.task {
			continue
		}
		switch {
		case t.State != "dead", failed && a.Retry >= 0, t.Failed && !failed:
			return 0, false
		case t.ExitCode != nil:
			code = *t.ExitCode
		case t.Failed, failed:
			code = exitFailed
		}
		if code < 0 || code > 255 { // what a process cannot return
			code = 255
		}
		if code == 0 && t.Failed {
			code = exitFailed
		}
		return code, true
	}
	return 0, false
}
