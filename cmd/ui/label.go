package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"
)

// maxLabel is how wide the column of labels gets, in characters.
const maxLabel = 24

// labels names each task of a run as shortly as it can be told from the
// others: TASK, GROUP/TASK or GROUP[INDEX]/TASK, with JOB/ in front where two
// jobs would say the same. Commands accept these as targets.
type labels struct {
	byTask map[labelKey]string
	width  int // of the column
	cut    bool
}

type labelKey struct{ alloc, task string } // alloc is <job>.<group>[<index>]

// newLabels names the tasks of canonicalised jobs. On a terminal of so many
// columns long names are shortened; with 0 columns they are not.
func newLabels(jobs []*api.Job, columns int) *labels {
	tasks := make(map[string]int)    // groups that have a task of this name
	pairs := make(map[[2]string]int) // jobs that have this group and task
	each(jobs, func(_ *api.Job, g *api.TaskGroup, t *api.Task) {
		tasks[t.Name]++
		pairs[[2]string{*g.Name, t.Name}]++
	})
	l := &labels{byTask: make(map[labelKey]string), cut: columns > 0}
	limit := maxLabel
	if columns > 0 {
		limit = min(limit, max(8, columns/4))
	}
	each(jobs, func(j *api.Job, g *api.TaskGroup, t *api.Task) {
		for i := range *g.Count {
			label := t.Name
			switch {
			case *g.Count > 1:
				label = fmt.Sprintf("%s[%d]/%s", *g.Name, i, t.Name)
			case tasks[t.Name] > 1:
				label = *g.Name + "/" + t.Name
			}
			if pairs[[2]string{*g.Name, t.Name}] > 1 {
				label = *j.ID + "/" + label
			}
			if l.cut {
				label = shorten(label, limit)
			}
			l.byTask[labelKey{fmt.Sprintf("%s.%s[%d]", *j.ID, *g.Name, i), t.Name}] = label
			l.width = max(l.width, min(limit, utf8.RuneCountInString(label)))
		}
	})
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
	return strings.TrimPrefix(alloc+"/"+task, "/")
}

// padded returns the label, filled up to the column's width.
func (l *labels) padded(label string) string {
	return label + strings.Repeat(" ", max(0, l.width-utf8.RuneCountInString(label)))
}

// shorten cuts the middle out of a text that is too long: what tells tasks
// apart stands at its ends.
func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	head := (limit - 1) / 2
	tail := limit - 1 - head
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}
