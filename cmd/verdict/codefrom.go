package verdict

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
)

// CodeFrom is the task that --exit-code-from names.
type CodeFrom struct{ job, group, task string }

// String returns the name of the task.
func (c *CodeFrom) String() string { return c.task }

// TaskError says that --exit-code-from matches no task, or several.
type TaskError struct {
	Name    string
	Matches []string // the tasks that it matches, as JOB/GROUP/TASK
	Tasks   []string // all tasks
}

func (e *TaskError) Error() string {
	if len(e.Matches) == 0 {
		return fmt.Sprintf("cannot take the exit code from task %q: no job has it", e.Name)
	}
	return fmt.Sprintf("cannot take the exit code from task %q: it is ambiguous: %s", e.Name, strings.Join(e.Matches, ", "))
}

// FindCodeFrom returns the task with the name [JOB/][GROUP/]TASK. The error is a
// *TaskError.
func FindCodeFrom(name string, jobs []*api.Job) (*CodeFrom, error) {
	var found *CodeFrom
	wrong := &TaskError{Name: name}
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			for _, t := range g.Tasks {
				full := *j.ID + "/" + *g.Name + "/" + t.Name
				wrong.Tasks = append(wrong.Tasks, full)
				if full == name || strings.HasSuffix(full, "/"+name) {
					found = &CodeFrom{*j.ID, *g.Name, t.Name}
					wrong.Matches = append(wrong.Matches, full)
				}
			}
		}
	}
	if len(wrong.Matches) != 1 {
		return nil, wrong
	}
	return found, nil
}

// code returns the worst exit code of the task's instances when all have ended for
// good.
func (c *CodeFrom) code(run *fold.Run) (worst int, ended bool) {
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

// codeIn returns the exit code of the task in an allocation, when the task has ended
// there and the allocation will not be replaced.
func (c *CodeFrom) codeIn(a *fold.Alloc) (code int, ended bool) {
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
			code = Failed
		}
		if code < 0 || code > 255 { // no process can return this
			code = 255
		}
		if code == 0 && t.Failed {
			code = Failed
		}
		return code, true
	}
	return 0, false
}
