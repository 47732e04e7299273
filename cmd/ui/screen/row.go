package screen

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
)

// level is the kind of object in a row of the tree.
type level int

const (
	jobRow level = iota
	groupRow
	allocRow // an allocation, and its task if that is the only one
	taskRow
)

type row struct {
	level
	id     string // the same while the object lives
	label  string // in the tree
	name   string // as commands take it
	job    string // key
	group  string
	alloc  *fold.Alloc  // of allocRow and taskRow
	tasks  []*fold.Task // of the row and those below it
	folded bool         // there are rows below it that are not shown
	leaf   bool
}

func (r *row) having(which func(*fold.Task) bool) *row {
	some := *r
	some.tasks = nil
	for _, t := range r.tasks {
		if which(t) {
			some.tasks = append(some.tasks, t)
		}
	}
	return &some
}

func (r *row) order(v Verb) Order {
	return Order{Verb: v, Label: r.name, Job: r.job, Group: r.group, Targets: targetsOf(r.tasks)}
}

func isRunning(t *fold.Task) bool { return t.State == "running" }

func (r *row) state() (text string, style Style) {
	switch {
	case r.leaf:
		return taskState(r.tasks[0])
	case r.level == allocRow:
		return allocState(r.alloc)
	}
	return r.summary()
}

// summary returns how many tasks of the row are in the most interesting state.
func (r *row) summary() (string, Style) {
	type count struct {
		text string
		n    int
		Style
	}
	var counts []count
	for _, t := range r.tasks {
		text, style := taskState(t)
		i := slices.IndexFunc(counts, func(c count) bool { return c.text == text })
		if i < 0 {
			i, counts = len(counts), append(counts, count{text, 0, style})
		}
		counts[i].n++
	}
	if len(counts) == 0 {
		return "", Plain
	}
	rank := func(c count) int { return slices.Index([]string{"failed", "pending", "running"}, c.text) & 0xff }
	slices.SortStableFunc(counts, func(a, b count) int { return cmp.Compare(rank(a), rank(b)) })
	if len(counts) == 1 && counts[0].n == 1 {
		return counts[0].text, counts[0].Style
	}
	return fmt.Sprintf("%d %s", counts[0].n, counts[0].text), counts[0].Style
}

// taskState returns the state of a task in one word.
func taskState(t *fold.Task) (string, Style) {
	switch {
	case t.Halted:
		return "stopped", Wait
	case t.State == "dead" && t.Failed:
		return "failed", Bad
	case t.State == "dead" && t.Stopped():
		return "stopped", Quiet
	case t.State == "dead":
		return "complete", Quiet
	case t.State == "running" && t.Stopping():
		return "stopping", Wait
	case t.State == "running":
		return t.State, Good
	}
	return t.State, Wait
}

func allocState(a *fold.Alloc) (string, Style) {
	switch {
	case a.Status == api.AllocClientStatusFailed:
		return a.Status, Bad
	case a.Stopped():
		return "stopped", Quiet
	case a.Ended():
		return a.Status, Quiet
	case a.Status == api.AllocClientStatusRunning:
		return a.Status, Good
	}
	return a.Status, Wait
}

func (r *row) health() (string, Style) {
	if r.alloc == nil || r.level == taskRow || r.alloc.Ended() {
		return "", Plain
	}
	for _, c := range r.alloc.Checks {
		if c.Status == "failure" {
			return "failing", Bad
		}
	}
	switch h := r.alloc.Healthy; {
	case h == nil:
		return "", Plain
	case *h:
		return "healthy", Good
	}
	return "unhealthy", Bad
}

func (r *row) restarts() (n uint64) {
	for _, t := range r.tasks {
		n += t.Restarts
	}
	return n
}
