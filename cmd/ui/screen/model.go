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
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Options configure a Model.
type Options struct {
	Jobs  []*api.Job
	Past  []event.Event
	Title string         // where the run is; may be empty
	Zone  *time.Location // of the times that are shown; nil: UTC
	// Leave are the choices of a user who leaves the screen; with none, or one, there
	// is no question.
	Leave []Choice
}

// Model is the state of the screen. It is not safe for concurrent use.
type Model struct {
	opts     Options
	history  history
	measures measures
	output   output
	tree     tree
	dialog   dialog

	width, height int
	panes         []pane
	at            int // the pane that is shown
	focus         focus
	zoom          bool      // only the part with the focus is shown
	help          *scroller // nil: the help is not shown
}

// New returns the view of a run after past events.
func New(o Options) *Model {
	m := &Model{
		opts: o, width: 80, height: 24,
		history:  history{run: fold.New(o.Jobs, o.Past...), trace: trace.NewBuilder(o.Jobs), zone: cmp.Or(o.Zone, time.UTC)},
		measures: measures{usage: map[Target]Usage{}, ports: map[string][]Port{}},
	}
	for _, e := range o.Past {
		m.history.trace.Add(e)
	}
	h, t, d := &m.history, &m.tree, &m.dialog
	m.tree = tree{run: h.run, focus: &m.focus, folded: map[string]bool{}, marked: map[Target]bool{}}
	m.panes = []pane{ // in the order of their tabs, and of their keys 1, 2, …
		{"Output", outputBindings, &outputPane{output: &m.output, history: h, tree: t, dialog: d, colors: map[string]Color{}, follow: true, wrap: true}},
		{"Events", tailBindings, &eventsPane{history: h, tree: t}},
		{"Checks", nil, &checksPane{history: h, tree: t}},
		{"Deployments", deploymentsBindings, &deploymentsPane{history: h, tree: t, dialog: d}},
		{"Waterfall", waterfallBindings, &waterfallPane{history: h, span: 1}},
	}
	return m
}

// Apply adds an event of the run, without output.
func (m *Model) Apply(e event.Event) {
	m.history.trace.Add(e)
	m.history.run.Apply(e)
	if n, ok := e.Body.(event.Notice); !ok {
		m.tree.changed()
	} else if n.Unfixed == "" {
		m.Say(n.Text)
	}
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
func (m *Model) Clear() { m.output.clear() }

// Measured replaces what tasks use.
func (m *Model) Measured(usage map[Target]Usage) (changed bool) {
	changed = !maps.Equal(m.measures.usage, usage)
	m.measures.usage = usage
	return changed
}

// SetPorts sets the ports of an allocation.
func (m *Model) SetPorts(alloc string, ports []Port) { m.measures.ports[alloc] = ports }

// SetLeave replaces the choices of a user who leaves the screen.
func (m *Model) SetLeave(choices []Choice) { m.opts.Leave = choices }

// Say shows a message until the next key.
func (m *Model) Say(text string) { m.dialog.say(text) }

// Fail shows an error until the next key.
func (m *Model) Fail(err error) { m.dialog.fail(err) }

// ChooseAction asks which of the actions of the order's task to run.
func (m *Model) ChooseAction(o Order, names []string) { m.dialog.chooseAction(o, names) }

// Orders returns the orders since the last call.
func (m *Model) Orders() []Order {
	orders := m.dialog.orders
	m.dialog.orders = nil
	return orders
}

// Ended says how the run has ended.
func (m *Model) Ended(how string) { m.history.ended = how }

// Resize sets the size of the screen.
func (m *Model) Resize(width, height int) { m.width, m.height = width, height }
