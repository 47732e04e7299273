// Package screen is the full-screen view of a run: what it shows, and what keys do. It
// is pure: events, output and keys in, lines and orders out. Package fullscreen has the
// terminal, and who makes a Model carries out its orders.
//
// On the left, or above in a narrow terminal, the Model shows the tree of jobs, groups,
// allocations and tasks; beside it one of several panes, see pane.go.
package screen

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Options are what a Model needs.
type Options struct {
	Jobs  []*api.Job
	Past  []event.Event
	Title string         // where the run is; may be empty
	Zone  *time.Location // of the times that are shown; nil: UTC
	// Leave are the choices of a user who leaves the screen; with none, or one, there
	// is no question.
	Leave []Choice
}

// Choice is an answer to a question.
type Choice struct {
	Key  Key
	Does string // in a word or a few, for the question
}

// Usage is what a task uses.
type Usage struct {
	CPU    float64 // percent of a core
	Memory uint64  // bytes
}

// Port is a port of an allocation.
type Port struct{ Label, Address string }

// Model is what the screen shows. It is not safe for concurrent use.
type Model struct {
	run   *fold.Run
	trace *trace.Builder
	opts  Options
	now   time.Time
	tree  tree
	panes []pane
	at    int // the pane that is shown
	focus focus
	zoom  bool      // only the part with the focus is shown
	help  *scroller // nil: the help is not shown
	askin *prompt
	said  said

	width, height int
	marked        map[Target]bool
	output        output
	usage         map[Target]Usage
	ports         map[string][]Port // by ID of the allocation
	colors        map[string]Color  // of tasks, by name
	orders        []Order
	ended         string // how the run ended; empty: it has not
}

type focus int

const (
	onTree focus = iota
	onPane
)

// said is the latest message.
type said struct {
	text string
	bad  bool
}

// New returns the view of a run after past events.
func New(o Options) *Model {
	m := &Model{
		run: fold.New(o.Jobs, o.Past...), trace: trace.NewBuilder(o.Jobs), opts: o, panes: newPanes(), width: 80, height: 24,
		tree: tree{folded: map[string]bool{}}, marked: map[Target]bool{},
		usage: map[Target]Usage{}, ports: map[string][]Port{}, colors: map[string]Color{},
	}
	for _, e := range o.Past {
		m.trace.Add(e)
	}
	return m
}

// Apply adds an event of the run, without output.
func (m *Model) Apply(e event.Event) {
	m.trace.Add(e)
	if n, ok := e.Body.(event.Notice); ok {
		if m.run.Apply(e); n.Unfixed == "" {
			m.Say(n.Text)
		}
		return
	}
	m.run.Apply(e)
	m.tree.rows = nil
}

// Write adds output of a task.
func (m *Model) Write(t Target, stream event.Stream, at time.Time, piece []byte) {
	m.output.write(outputKey{t, stream}, at, piece)
}

// Skipped adds a line about output that is missing.
func (m *Model) Skipped(t Target, stream event.Stream, at time.Time, text string) {
	m.output.end(outputKey{t, stream})
	m.output.write(outputKey{t, stream}, at, []byte("["+text+"]\n"))
}

// Clear drops all output, because other tasks are shown.
func (m *Model) Clear() { m.output = output{dropped: m.output.dropped + len(m.output.lines)} }

// Measured replaces what tasks use.
func (m *Model) Measured(usage map[Target]Usage) (changed bool) {
	changed = !maps.Equal(m.usage, usage)
	m.usage = usage
	return changed
}

// SetPorts sets the ports of an allocation.
func (m *Model) SetPorts(alloc string, ports []Port) { m.ports[alloc] = ports }

// Say shows a message until the next key.
func (m *Model) Say(text string) { m.said = said{text: text} }

// Fail shows an error until the next key.
func (m *Model) Fail(err error) { m.said = said{err.Error(), true} }

// local returns a time as it is shown.
func (m *Model) local(t time.Time) time.Time {
	if m.opts.Zone == nil {
		return t.UTC()
	}
	return t.In(m.opts.Zone)
}

// traced returns what happened until now.
func (m *Model) traced() *trace.Trace {
	if m.ended != "" {
		return m.trace.Trace(time.Time{})
	}
	return m.trace.Trace(m.now)
}

// Moves reports whether the picture changes every second although nothing happens.
func (m *Model) Moves() bool {
	p, ok := m.panes[m.at].(interface{ moves() bool })
	return ok && p.moves() && m.ended == "" && m.help == nil && m.areas().pane.height > 0
}

// Ended says how the run has ended.
func (m *Model) Ended(how string) { m.ended = how }

// Resize sets the size of the screen.
func (m *Model) Resize(width, height int) { m.width, m.height = width, height }

// maxShown limits the tasks whose output is shown.
const maxShown = 20

// Shown returns the tasks whose output is shown: the marked ones or, if there are none,
// those of the row with the cursor.
func (m *Model) Shown() (shown []Target) {
	if len(m.marked) > 0 {
		return m.markedTasks()
	}
	if r := m.cursor(); r != nil {
		for _, t := range r.tasks[:min(len(r.tasks), maxShown)] {
			shown = append(shown, targetOf(t.Alloc.Alloc, t.Name))
		}
	}
	return shown
}

// markedTasks returns marked tasks, in the order of the tree.
func (m *Model) markedTasks() (marked []Target) {
	allocs := slices.Clone(m.run.Allocs)
	slices.SortStableFunc(allocs, func(a, b *fold.Alloc) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Index(), b.Index()))
	})
	for _, a := range allocs {
		for _, t := range a.Tasks {
			if target := targetOf(a.Alloc, t.Name); m.marked[target] {
				if marked = append(marked, target); len(marked) == maxShown {
					return marked
				}
			}
		}
	}
	return marked
}

// maxHidden limits the tasks that are measured only for the sum in a row above them.
const maxHidden = 100

// Visible returns the running tasks whose usage is shown: those of the visible rows, and
// those that a visible row sums up unless they are many.
func (m *Model) Visible() (visible []Target) {
	known := map[Target]bool{}
	add := func(r *row) {
		for _, t := range r.tasks {
			if target := targetOf(t.Alloc.Alloc, t.Name); t.State == "running" && !known[target] {
				known[target] = true
				visible = append(visible, target)
			}
		}
	}
	rows := m.visible()
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
	for _, r := range m.visible() {
		if r.alloc == nil || r.alloc.Status == api.AllocClientStatusPending || r.alloc.Ended() || len(r.tasks) == 0 {
			continue
		}
		if _, known := m.ports[r.alloc.ID]; !known {
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
	for _, r := range m.visible() {
		if r.alloc != nil {
			add(r.alloc)
		}
	}
	if _, shown := m.panes[m.at].(*checksPane); shown && m.cursor() != nil {
		for _, t := range m.cursor().tasks {
			add(t.Alloc)
		}
	}
	return checked
}

// Alloc returns the allocation with an ID, or nil.
func (m *Model) Alloc(id string) *event.Alloc {
	if a := m.run.Find(id); a != nil {
		return a.Alloc
	}
	return nil
}

// color returns the color of a task's label.
func (m *Model) color(task string) Color {
	c, known := m.colors[task]
	if !known {
		c = taskColors[len(m.colors)%len(taskColors)]
		m.colors[task] = c
	}
	return c
}
