package screen

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

type groupKey struct{ job, group string }

type builder struct {
	run    *fold.Run
	folded map[string]bool
	filter string
}

// build returns the rows of the tree: for each job, its groups in the order of the job
// file, and their allocations.
func (b *builder) build() []*row {
	allocs := map[groupKey][]*fold.Alloc{}
	var jobs []string
	groups := map[string][]string{}
	learn := func(job, group string) {
		if _, known := groups[job]; !known {
			jobs = append(jobs, job)
			groups[job] = nil
		}
		if group != "" && !slices.Contains(groups[job], group) {
			groups[job] = append(groups[job], group)
		}
	}
	for _, j := range b.run.Jobs {
		key := keyOf(j)
		learn(key, "")
		if j.IsPeriodic() || j.IsParameterized() {
			continue // it has no allocations of its own
		}
		for _, g := range j.TaskGroups {
			learn(key, *g.Name)
		}
	}
	for _, a := range b.run.Final() {
		learn(a.Job, a.Group)
		k := groupKey{a.Job, a.Group}
		allocs[k] = append(allocs[k], a)
	}
	rows := make([]*row, 0, len(b.run.Allocs)+8)
	for _, job := range jobs {
		var below []*row
		for _, group := range groups[job] {
			of := allocs[groupKey{job, group}]
			slices.SortStableFunc(of, func(a, b *fold.Alloc) int { return cmp.Compare(a.Index(), b.Index()) })
			below = append(below, b.group(job, group, of, len(jobs) > 1)...)
		}
		r := &row{level: jobRow, id: "job " + job, label: event.JobName(job), name: event.JobName(job), job: job}
		rows = append(rows, b.under(r, below)...)
	}
	return rows
}

func (b *builder) group(job, group string, allocs []*fold.Alloc, several bool) []*row {
	var below []*row
	prefix := ""
	if several {
		prefix = event.JobName(job) + "/"
	}
	for _, a := range allocs {
		below = append(below, b.alloc(a, prefix)...)
	}
	r := &row{level: groupRow, id: "group " + job + "\x00" + group, label: group, name: prefix + group, job: job, group: group}
	return b.under(r, below)
}

func (b *builder) alloc(a *fold.Alloc, prefix string) []*row {
	name := fmt.Sprintf("%s%s[%d]", prefix, a.Group, a.Index())
	r := &row{level: allocRow, id: "alloc " + a.ID, label: fmt.Sprintf("[%d]", a.Index()), name: name, job: a.Job, group: a.Group, alloc: a}
	if len(a.Tasks) == 1 {
		t := a.Tasks[0]
		r.label, r.name, r.tasks = r.label+" "+t.Name, name+"/"+t.Name, a.Tasks
		return b.under(r, nil)
	}
	var below []*row
	for _, t := range a.Tasks {
		below = append(below, b.under(&row{
			level: taskRow, id: "task " + a.ID + "/" + t.Name, label: t.Name, name: name + "/" + t.Name, job: a.Job, group: a.Group,
			alloc: a, tasks: []*fold.Task{t},
		}, nil)...)
	}
	return b.under(r, below)
}

// under returns a row with those below it, as far as they are unfolded and match the
// filter. A row that does not match, with none below that does, is not shown.
func (b *builder) under(r *row, below []*row) []*row {
	next := r.level + 1
	for _, c := range below {
		if c.level == next {
			r.tasks = append(r.tasks, c.tasks...)
		}
	}
	r.leaf = len(r.tasks) > 0 && (r.level == taskRow || r.level == allocRow && len(r.tasks) == 1 && len(below) == 0)
	switch {
	case b.filter != "" && len(below) == 0 && !b.matches(r):
		return nil
	case b.filter == "" && b.folded[r.id] && len(below) > 0:
		r.folded = true
		return []*row{r}
	}
	return append([]*row{r}, below...)
}

// matches reports whether a row without rows below it matches the filter.
func (b *builder) matches(r *row) bool {
	text := r.name
	if r.alloc != nil {
		text += " " + r.alloc.ID + " " + event.JobName(r.job)
	}
	state, _ := r.state()
	return contains(text+" "+state, b.filter)
}

func keyOf(j *api.Job) string {
	if j.ID == nil {
		return ""
	}
	return *j.ID
}
