package ui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/visible"
)

// maxLabel is how wide the column of labels gets.
const maxLabel = 24

// labels names each task of a run as shortly as it can be told from the
// others: TASK, GROUP/TASK or GROUP[INDEX]/TASK, with JOB/ in front where two
// jobs would say the same. Commands accept these as targets.
type labels struct {
	byTask map[labelKey]string
	width  int // of the column
}

type labelKey struct{ alloc, task string } // alloc is <job>.<group>[<index>]

// newLabels names the tasks of canonicalised jobs. On a terminal of so many
// columns long names are shortened; with 0 columns they are not.
func newLabels(jobs []*api.Job, columns int) *labels {
	groups := make(map[[2]string]int) // by job and task: in how many groups
	each(jobs, func(j *api.Job, _ *api.TaskGroup, t *api.Task) { groups[[2]string{*j.ID, t.Name}]++ })
	inJob := func(j *api.Job, g *api.TaskGroup, t *api.Task, index int) string {
		switch {
		case *g.Count > 1:
			return fmt.Sprintf("%s[%d]/%s", *g.Name, index, t.Name)
		case groups[[2]string{*j.ID, t.Name}] > 1:
			return *g.Name + "/" + t.Name
		}
		return t.Name
	}
	owners := make(map[string]int) // by label: how many jobs have it
	if len(jobs) > 1 {
		each(jobs, func(j *api.Job, g *api.TaskGroup, t *api.Task) { owners[inJob(j, g, t, 0)]++ })
	}

	byTask := make(map[labelKey]string)
	each(jobs, func(j *api.Job, g *api.TaskGroup, t *api.Task) {
		for i := range *g.Count {
			label := inJob(j, g, t, i)
			if owners[inJob(j, g, t, 0)] > 1 {
				label = *j.ID + "/" + label
			}
			byTask[labelKey{fmt.Sprintf("%s.%s[%d]", *j.ID, *g.Name, i), t.Name}] = label
		}
	})
	return fitLabels(byTask, columns)
}

// fitLabels makes labels fit into a terminal of so many columns.
func fitLabels(byTask map[labelKey]string, columns int) *labels {
	l := &labels{byTask: byTask}
	limit := maxLabel
	if columns > 0 {
		limit = min(limit, max(8, columns/4))
	}
	for key, label := range byTask {
		label = visible.String(label)
		if columns > 0 {
			label = shorten(label, limit)
		}
		byTask[key] = label
		l.width = max(l.width, min(limit, ansi.StringWidth(label)))
	}
	return l
}

func each(jobs []*api.Job, f func(*api.Job, *api.TaskGroup, *api.Task)) {
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			for _, t := range g.Tasks {
				f(j, g, t)
			}
		}
	}
}

// of returns a task's label; a task that no job has is named in full.
func (l *labels) of(alloc, task string) string {
	if label, ok := l.byTask[labelKey{alloc, task}]; ok {
		return label
	}
	return visible.String(strings.TrimPrefix(alloc+"/"+task, "/"))
}

// padded returns the label, filled up to the column's width.
func (l *labels) padded(label string) string {
	return label + strings.Repeat(" ", max(0, l.width-ansi.StringWidth(label)))
}

// shorten cuts the middle out of a text that is too long: what tells tasks
// apart stands at its ends, and in the index of GROUP[INDEX]/TASK.
func shorten(text string, limit int) string {
	const least = 3 // of the group, and of the task
	group, rest, _ := strings.Cut(text, "[")
	index, task, indexed := strings.Cut(rest, "]/")
	if _, err := strconv.Atoi(index); err != nil || !indexed {
		return cut(text, limit)
	}
	index = "[" + index + "]/"
	room := limit - len(index)
	if room < 2*least {
		return cut(text, limit)
	}
	first := min(ansi.StringWidth(group), max(room-ansi.StringWidth(task), room/3, least))
	return cut(group, first) + index + cut(task, room-first)
}

// cut cuts the middle out of a text that is too wide.
func cut(text string, limit int) string {
	width := ansi.StringWidth(text)
	if width <= limit {
		return text
	}
	head := (limit - 1) / 2
	rest, room := text, limit-1-head
	for skip := width - room; ansi.StringWidth(rest) > room; skip++ { // half a character does not count
		rest = ansi.TruncateLeft(text, skip, "")
	}
	return ansi.Truncate(text, head, "") + "…" + rest
}
