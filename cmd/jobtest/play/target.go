package play

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// target names tasks or allocations of a job.
type target struct {
	group string // empty: any
	index int    // negative: any
	task  string // empty: the whole allocation
}

// parseTarget reads [GROUP[INDEX]/]TASK or GROUP[INDEX]. A single word is the name of
// a task or, if the job has none of that name, of a group. It reports whether the
// job has what is named.
func parseTarget(text string, job *api.Job) (target, bool) {
	first, task, both := strings.Cut(text, "/")
	t := target{index: -1, task: task}
	if !both && hasTask(job, text) {
		return target{index: -1, task: text}, true
	}
	t.group = first
	if name, rest, indexed := strings.Cut(first, "["); indexed {
		index, closed := strings.CutSuffix(rest, "]")
		n, err := strconv.Atoi(index)
		if !closed || err != nil || n < 0 {
			return target{}, false
		}
		t.group, t.index = name, n
	}
	g := job.LookupTaskGroup(t.group)
	return t, g != nil && (!both || taskOf(g, t.task) != nil)
}

func hasTask(job *api.Job, name string) bool {
	return slices.ContainsFunc(job.TaskGroups, func(g *api.TaskGroup) bool { return taskOf(g, name) != nil })
}

// taskOf returns a task of a group; nil if it has none of that name.
func taskOf(g *api.TaskGroup, name string) *api.Task {
	i := slices.IndexFunc(g.Tasks, func(t *api.Task) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return g.Tasks[i]
}

// matches reports whether the target names an allocation, or tasks of it.
func (t target) matches(a *event.Alloc) bool {
	return (t.group == "" || t.group == a.Group) && (t.index < 0 || t.index == a.Index())
}

// exactness orders targets: one that names more counts before others.
func (t target) exactness() (n int) {
	if t.group != "" {
		n++
	}
	if t.index >= 0 {
		n++
	}
	return n
}
