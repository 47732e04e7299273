package screen

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Shown returns the tasks whose output is shown: the marked ones or, without marks,
// those of the row with the cursor.
func (m *Model) Shown() []Target { return m.tree.selected() }

// maxHidden limits the tasks that are measured only for the sum in a row above them.
const maxHidden = 100

// Visible returns the running tasks whose usage is shown: those of the visible rows, and
// those that a visible row sums up unless they are many.
func (m *Model) Visible() (visible []Target) {
	known := map[Target]bool{}
	add := func(r *row) {
		for _, t := range r.tasks {
			if target := targetOf(t.Alloc.Alloc, t.Name); isRunning(t) && !known[target] {
				known[target] = true
				visible = append(visible, target)
			}
		}
	}
	rows := m.tree.visible()
	for _, r := range rows {
		if r.leaf {
			add(r)
		}
	}
	for _, r := range rows {
		if len(r.tasks) <= maxHidden {
			add(r)
		}
	}
	return visible
}

// Placed returns a task of each allocation in the visible rows whose ports are not
// known.
func (m *Model) Placed() (placed []Target) {
	for _, r := range m.tree.visible() {
		if r.alloc == nil || r.alloc.Status == api.AllocClientStatusPending || r.alloc.Ended() || len(r.tasks) == 0 {
			continue
		}
		if _, known := m.measures.ports[r.alloc.ID]; !known {
			placed = append(placed, targetOf(r.alloc.Alloc, r.tasks[0].Name))
		}
	}
	return slices.CompactFunc(placed, func(a, b Target) bool { return a.Alloc == b.Alloc })
}

// maxChecked limits the allocations whose checks are asked for.
const maxChecked = 100

// Checked returns the allocations whose services and checks are visible: in the rows of
// the tree, or in the pane.
func (m *Model) Checked() (checked []*event.Alloc) {
	add := func(a *fold.Alloc) {
		if (!a.Ended() || len(a.Services) > 0) && len(checked) < maxChecked && !slices.Contains(checked, a.Alloc) {
			checked = append(checked, a.Alloc)
		}
	}
	for _, r := range m.tree.visible() {
		if r.alloc != nil {
			add(r.alloc)
		}
	}
	if _, shown := m.panes[m.at].content.(*checksPane); shown && m.tree.cursor() != nil {
		for _, t := range m.tree.cursor().tasks {
			add(t.Alloc)
		}
	}
	return checked
}

// Alloc returns the allocation with an ID, or nil.
func (m *Model) Alloc(id string) *event.Alloc {
	if a := m.history.run.Find(id); a != nil {
		return a.Alloc
	}
	return nil
}
