package screen

import (
	"cmp"
	"slices"
	"strings"

	"taskrun/engine/fold"
)

// focus is the part of the screen that gets the keys.
type focus int

const (
	onTree focus = iota
	onPane
)

// tree is the part of the run that is selected and unfolded.
type tree struct {
	run    *fold.Run
	focus  *focus
	folded map[string]bool // by ID of the row
	filter string          // folded text; only rows that match, and those above and below them
	marked map[Target]bool

	rows   []*row // that are shown, at any scroll position; nil: not known
	at     string // ID of the row with the cursor
	moved  bool   // the user has moved the cursor
	top    int    // first row that is visible
	height int    // of the latest window
}

// shown returns the rows of the tree. They are computed after each change.
func (t *tree) shown() []*row {
	if t.rows == nil {
		was := t.find(t.at)
		t.rows = (&builder{t.run, t.folded, t.filter}).build()
		if len(t.rows) > 0 && (!t.moved || t.find(t.at) < 0) {
			t.at = t.begin(was)
		}
	}
	return t.rows
}

// begin returns the ID of the row to begin with: that of the first task or, if the
// user has been at a row that is gone, the one in its place.
func (t *tree) begin(was int) string {
	if t.moved {
		return t.rows[max(0, min(was, len(t.rows)-1))].id
	}
	for _, r := range t.rows {
		if r.leaf {
			return r.id
		}
	}
	return t.rows[0].id
}

// find returns the index of a row, or -1.
func (t *tree) find(id string) int {
	return slices.IndexFunc(t.rows, func(r *row) bool { return r.id == id })
}

// cursor returns the row with the cursor, or nil if there are no rows.
func (t *tree) cursor() *row {
	rows := t.shown()
	if i := t.find(t.at); i >= 0 {
		return rows[i]
	}
	return nil
}

func (t *tree) visible() []*row {
	rows := t.shown()
	from := min(t.top, len(rows))
	return rows[from:min(len(rows), from+t.height)]
}

// changed makes the tree compute its rows again.
func (t *tree) changed() { t.rows = nil }

// limit limits the tree to rows that match a text.
func (t *tree) limit(text string) {
	t.filter = folded(strings.TrimSpace(text))
	t.changed()
}

func (t *tree) fold(r *row, folded bool) {
	t.folded[r.id] = folded
	t.changed()
}

// mark marks the tasks of a row, or removes their marks if all are marked.
func (t *tree) mark(r *row) {
	targets := targetsOf(r.tasks)
	all := !slices.ContainsFunc(targets, func(task Target) bool { return !t.marked[task] })
	for _, task := range targets {
		if all {
			delete(t.marked, task)
		} else {
			t.marked[task] = true
		}
	}
}

// maxShown limits the tasks whose output is shown.
const maxShown = 20

// selected returns the tasks whose output is shown: the marked ones or, without
// marks, those of the row with the cursor.
func (t *tree) selected() []Target {
	if len(t.marked) > 0 {
		return t.markedTasks()
	}
	if r := t.cursor(); r != nil {
		return targetsOf(r.tasks[:min(len(r.tasks), maxShown)])
	}
	return nil
}

// markedTasks returns marked tasks, in the order of the tree.
func (t *tree) markedTasks() (marked []Target) {
	allocs := slices.Clone(t.run.Allocs)
	slices.SortStableFunc(allocs, func(a, b *fold.Alloc) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Index(), b.Index()))
	})
	for _, a := range allocs {
		for _, task := range a.Tasks {
			if target := targetOf(a.Alloc, task.Name); t.marked[target] {
				if marked = append(marked, target); len(marked) == maxShown {
					return marked
				}
			}
		}
	}
	return marked
}
