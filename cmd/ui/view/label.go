package view

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// maxLabel is the maximum width of the column of labels.
const maxLabel = 24

// labels has the shortest unambiguous name of each task in a run: TASK,
// GROUP/TASK or GROUP[INDEX]/TASK, preceded by JOB/ if two jobs have the same.
// Commands accept these names as targets.
type labels struct {
	byTask map[labelKey]string
	width  int // of the column

	// byID puts the ID of the allocation before the task, instead.
	byID  bool
	shows func(alloc *event.Alloc, task string) bool // nil: all
	shown int                                        // number of tasks that it accepts

	jobs    []*api.Job
	columns int
	counts  map[groupKey]int // number of allocations of groups
}

type groupKey struct{ job, group string }

type labelKey struct{ alloc, task string } // alloc is <job>.<group>[<index>]

// newLabels names the tasks of the jobs. Long names are shortened to fit a terminal
// with the given columns, unless that is 0.
func newLabels(opts Options, columns int) *labels {
	l := &labels{
		jobs: opts.Jobs, columns: columns, counts: make(map[groupKey]int),
		byID: opts.Prefix == ui.PrefixAlloc, shows: opts.Shows,
	}
	for _, j := range opts.Jobs {
		for _, g := range j.TaskGroups {
			l.counts[groupKey{*j.ID, *g.Name}] = *g.Count
		}
	}
	l.name()
	return l
}

// learn records an allocation. It reports whether labels have changed because
// its group has more allocations than before.
func (l *labels) learn(a *event.Alloc) (changed bool) {
	key := groupKey{a.Job, a.Group}
	count, known := l.counts[key]
	if !known || a.Index() < count {
		return false
	}
	l.counts[key] = a.Index() + 1
	l.name()
	return true
}

// compare compares allocations in the order of their jobs.
func (l *labels) compare(a, b *event.Alloc) int {
	return cmp.Or(cmp.Compare(l.rank(a), l.rank(b)), cmp.Compare(a.Index(), b.Index()))
}

// rank returns the position of a group in its job, combined with that of the
// job.
func (l *labels) rank(a *event.Alloc) (rank int) {
	for _, j := range l.jobs {
		for _, g := range j.TaskGroups {
			if *j.ID == a.Job && *g.Name == a.Group {
				return rank
			}
			rank++
		}
	}
	return rank
}

func (l *labels) name() {
	jobs := l.jobs
	groups := make(map[[2]string]int) // by job and task: number of groups
	each(jobs, func(j *api.Job, _ *api.TaskGroup, t *api.Task) { groups[[2]string{*j.ID, t.Name}]++ })
	inJob := func(j *api.Job, g *api.TaskGroup, t *api.Task, index int) string {
		switch {
		case l.counts[groupKey{*j.ID, *g.Name}] > 1:
			return fmt.Sprintf("%s[%d]/%s", *g.Name, index, t.Name)
		case groups[[2]string{*j.ID, t.Name}] > 1:
			return *g.Name + "/" + t.Name
		}
		return t.Name
	}
	owners := make(map[string]int) // by label: number of jobs
	if len(jobs) > 1 {
		each(jobs, func(j *api.Job, g *api.TaskGroup, t *api.Task) { owners[inJob(j, g, t, 0)]++ })
	}

	l.byTask, l.shown = make(map[labelKey]string), 0
	each(jobs, func(j *api.Job, g *api.TaskGroup, t *api.Task) {
		for i := range l.counts[groupKey{*j.ID, *g.Name}] {
			label := inJob(j, g, t, i)
			if owners[inJob(j, g, t, 0)] > 1 {
				label = *j.ID + "/" + label
			}
			a := &event.Alloc{Job: *j.ID, Group: *g.Name, Name: fmt.Sprintf("%s.%s[%d]", *j.ID, *g.Name, i)}
			l.byTask[labelKey{a.Name, t.Name}] = label
			if l.shows == nil || l.shows(a, t.Name) {
				l.shown++
			}
		}
	})
	l.fit()
}

// fit shortens the labels to fit the terminal.
func (l *labels) fit() *labels {
	for key, label := range l.byTask {
		label = l.short(label)
		l.byTask[key] = label
		if l.byID {
			label = l.short(anyID + "/" + key.task)
		}
		l.width = max(l.width, min(l.limit(), ansi.StringWidth(label)))
	}
	return l
}

// anyID is as wide as the short form of an ID.
const anyID = "00000000"

func (l *labels) limit() int {
	if l.columns > 0 {
		return min(maxLabel, max(8, l.columns/4))
	}
	return maxLabel
}

// short makes a label safe, and shortens it to fit a terminal.
func (l *labels) short(label string) string {
	label = visible.String(label)
	if l.columns > 0 {
		label = prose.Shorten(label, l.limit())
	}
	return label
}

// before returns the label of a task for its lines.
func (l *labels) before(alloc *event.Alloc, task string) string {
	if l.byID {
		return l.short(prose.ShortID(alloc.ID) + "/" + task)
	}
	return l.of(alloc.Name, task)
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

// of returns a task's label, or the full name if no job contains the task.
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

// taskColors assigns each task name a color: by its hash, or the next color
// that fewer names have. The same jobs always get the same colors.
func taskColors(jobs []*api.Job) colors {
	colors := make(colors)
	each(jobs, func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { colors.give(t.Name) })
	return colors
}

// colors maps task names to indexes of a style's task colors.
type colors map[string]int

func (c colors) give(name string) {
	if _, ok := c[name]; ok {
		return
	}
	var taken [ui.TaskColors]int
	for _, at := range c {
		taken[at]++
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	at := int(h.Sum32() % uint32(len(taken)))
	for taken[at] > len(c)/len(taken) {
		at = (at + 1) % len(taken)
	}
	c[name] = at
}
