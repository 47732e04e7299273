package screen

import (
	"slices"

	"taskrun/engine/fold"
)

// level is what a row of the tree stands for.
type level int

const (
	jobRow level = iota
	groupRow
	allocRow // an allocation, and its task if that is the only one
	taskRow
)

// row is a row of the tree.
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

// tree is the part of the run that is selected and unfolded.
type tree struct {
	rows   []*row // that are shown, at any scroll position; nil: not known
	at     string // ID of the row with the cursor
	moved  bool   // the user has moved the cursor
	top    int    // first row that is visible
	height int    // of the latest window
	folded map[string]bool
	filter string // folded text; only rows that match, and those above and below them
}

// shown returns the rows of the tree. They are computed after each change.
func (m *Model) shown() []*row {
	t := &m.tree
	if t.rows == nil {
		was := m.find(t.at)
		t.rows = m.build()
		if len(t.rows) > 0 && (!t.moved || m.find(t.at) < 0) {
			t.at = m.begin(was)
		}
	}
	return t.rows
}

// begin returns the ID of the row to begin with: that of the first task or, if the
// user has been at a row that is gone, the one in its place.
func (m *Model) begin(was int) string {
	rows := m.tree.rows
	if m.tree.moved {
		return rows[max(0, min(was, len(rows)-1))].id
	}
	for _, r := range rows {
		if r.leaf {
			return r.id
		}
	}
	return rows[0].id
}

// find returns the index of a row, or -1.
func (m *Model) find(id string) int {
	return slices.IndexFunc(m.tree.rows, func(r *row) bool { return r.id == id })
}

// cursor returns the row with the cursor, or nil if there are no rows.
func (m *Model) cursor() *row {
	rows := m.shown()
	if i := m.find(m.tree.at); i >= 0 {
		return rows[i]
	}
	return nil
}

// treeKey handles the keys of the tree.
func (m *Model) treeKey(k Key) bool {
	t := &m.tree
	rows := m.shown()
	at := max(0, m.find(t.at))
	move := func(to int) bool {
		if len(rows) > 0 {
			t.at, t.moved = rows[max(0, min(to, len(rows)-1))].id, true
		}
		return true
	}
	switch k {
	case "j", "down":
		return move(at + 1)
	case "k", "up":
		return move(at - 1)
	case "pgdn", "ctrl+f", "ctrl+d":
		return move(at + max(1, t.height-1))
	case "pgup", "ctrl+b", "ctrl+u":
		return move(at - max(1, t.height-1))
	case "g", "home":
		return move(0)
	case "G", "end":
		return move(len(rows) - 1)
	}
	if len(rows) == 0 {
		return false
	}
	r := rows[at]
	switch k {
	case "h", "left":
		if r.leaf || r.folded {
			for i := at; i >= 0; i-- {
				if rows[i].level < r.level {
					return move(i)
				}
			}
			return true
		}
		m.fold(r, true)
	case "l", "right":
		if r.leaf {
			m.focus = onPane
			return true
		}
		m.fold(r, false)
	case "enter":
		if r.leaf {
			m.focus = onPane
			return true
		}
		m.fold(r, !r.folded)
	case "space":
		m.mark(r)
		return move(at + 1)
	case "u":
		clear(m.marked)
	default:
		return false
	}
	return true
}

func (m *Model) fold(r *row, folded bool) {
	m.tree.folded[r.id] = folded
	m.tree.rows = nil
}

// mark marks the tasks of a row, or removes their marks if all have some.
func (m *Model) mark(r *row) {
	marked := 0
	for _, t := range r.tasks {
		if m.marked[targetOf(t.Alloc.Alloc, t.Name)] {
			marked++
		}
	}
	for _, t := range r.tasks {
		if target := targetOf(t.Alloc.Alloc, t.Name); marked == len(r.tasks) {
			delete(m.marked, target)
		} else {
			m.marked[target] = true
		}
	}
}
