package screen

import (
	"fmt"
	"strconv"
	"strings"

	"taskrun/engine/fold"
)

// treeBindings are the keys of the tree.
var treeBindings = []binding{
	{keys: []Key{"j", "k"}, name: "j k ↓ ↑", help: "move the cursor; also g, G, PgUp, PgDn and the mouse"},
	{keys: []Key{"h", "l"}, name: "h l ← →", help: "fold and unfold; Enter does both"},
	{keys: []Key{"space"}, does: "mark", help: "show the output of several tasks, interleaved; u removes all marks"},
}

// globalBindings are the keys that work everywhere, unless the part with the focus has
// another use for them.
var globalBindings = []binding{
	{keys: []Key{"r"}, does: "restart", help: "restart the task, or all tasks of the row"},
	{keys: []Key{"s"}, does: "stop", help: "stop the task, or all tasks of the row"},
	{keys: []Key{"S"}, does: "start", help: "start the task again, after s has stopped it"},
	{keys: []Key{"x"}, does: "signal", help: "send the task a signal"},
	{keys: []Key{"c"}, does: "scale", help: "change the count of the group"},
	{keys: []Key{"a"}, does: "action", help: "run an action of the task"},
	{keys: []Key{"e"}, does: "shell", help: "open a shell in the task; the screen returns when it ends"},
	{keys: []Key{"b"}, does: "browser", help: "open the address of the task in a browser"},
	{keys: []Key{"y"}, does: "copy", help: "copy the name of the task or, from the output, what is visible"},
	{keys: []Key{"/"}, does: "find", help: "filter the tree; in the output: search"},
	{keys: []Key{"tab"}, name: "Tab", does: "focus", help: "change between the tree and the pane"},
	{keys: []Key{"z"}, does: "zoom", help: "show only the part with the focus"},
	{keys: []Key{"1"}, name: "1 2 …", help: "show another pane; also [ and ]"},
	{keys: []Key{"m"}, help: "leave the mouse to the terminal, to select text; m takes it back"},
	{keys: []Key{"ctrl+z"}, name: "Ctrl-Z", help: "suspend taskrun; fg returns"},
	{keys: []Key{"ctrl+l"}, name: "Ctrl-L", help: "draw the screen again"},
	{keys: []Key{"?"}, does: "help", help: "show or hide this help"},
	{keys: []Key{"q"}, does: "leave", help: "leave the screen; also Ctrl-C"},
}

// Key handles a key.
func (m *Model) Key(k Key) {
	m.said = said{}
	switch {
	case m.askin != nil:
		m.askin.key(m, k)
		return
	case m.help != nil && m.help.key(k):
		return
	case m.help != nil:
		m.help = nil
		return
	}
	if m.focus == onPane && m.panes[m.at].key(m, k) || m.focus == onTree && m.treeKey(k) {
		return
	}
	m.global(k)
}

// Paste handles a character that was pasted: it is typed into a question, but orders
// nothing.
func (m *Model) Paste(k Key) {
	if m.askin != nil && m.askin.choices == nil && k != "enter" {
		m.askin.key(m, k)
	}
}

// global handles the keys that work everywhere.
func (m *Model) global(k Key) {
	if n, err := strconv.Atoi(string(k)); err == nil && n >= 1 && n <= len(m.panes) {
		m.at = n - 1
		return
	}
	switch k {
	case "q", "ctrl+c":
		m.leave()
	case "?":
		m.help = &scroller{}
	case "tab", "backtab":
		m.focus = onPane - m.focus
	case "esc":
		m.escape()
	case "z":
		m.zoom = !m.zoom
	case "[", "]":
		step := 1
		if k == "[" {
			step = len(m.panes) - 1
		}
		m.at = (m.at + step) % len(m.panes)
	case "/":
		m.focus = onTree
		m.ask("filter", m.tree.filter, func(string) {})
		m.askin.typing = m.filter
	case "ctrl+z":
		m.order(Order{Verb: Suspend})
	case "ctrl+l":
		m.order(Order{Verb: Redraw})
	case "m":
		m.order(Order{Verb: ToggleMouse})
	default:
		if r := m.cursor(); r != nil {
			m.orderKey(r, k)
		}
	}
}

// escape undoes the last change of the view.
func (m *Model) escape() {
	switch {
	case m.tree.filter != "":
		m.filter("")
	case m.zoom:
		m.zoom = false
	case m.focus == onPane:
		m.focus = onTree
	}
}

// filter limits the tree to rows that match a text.
func (m *Model) filter(text string) {
	m.tree.filter, m.tree.rows = folded(strings.TrimSpace(text)), nil
}

// SetLeave replaces the choices of a user who leaves the screen.
func (m *Model) SetLeave(choices []Choice) { m.opts.Leave = choices }

// leave asks how to leave the screen, if there is a choice.
func (m *Model) leave() {
	switch c := m.opts.Leave; {
	case len(c) == 0 || m.ended != "":
		m.order(Order{Verb: Leave})
	default:
		m.choose("leave?", c, func(answer string) { m.order(Order{Verb: Leave, Text: answer}) })
	}
}

// orderKey handles the keys that order something for a row.
func (m *Model) orderKey(r *row, k Key) {
	running := r.having(func(t *fold.Task) bool { return t.State == "running" })
	switch k {
	case "r":
		m.each(running, Restart, "restart", "is running")
	case "s":
		if r.level == jobRow {
			m.confirm(fmt.Sprintf("stop job %s?", r.name), func() { m.order(Order{Verb: Stop, Job: r.job, Label: r.name}) })
			return
		}
		m.each(r.having(func(t *fold.Task) bool { return t.State != "dead" && !t.Halted }), Stop, "stop", "is running")
	case "S":
		m.each(r.having(func(t *fold.Task) bool { return t.Halted }), Start, "start", "was stopped")
	case "x":
		if len(running.tasks) == 0 {
			m.Say("no task of " + r.name + " is running")
			return
		}
		m.ask("signal for "+r.name, "SIGHUP", func(text string) {
			if w := strings.Fields(text); len(w) == 1 {
				o := running.order(Signal)
				o.Text = w[0]
				m.order(o)
			}
		})
	case "c":
		m.scale(r)
	case "a", "e", "b":
		m.inTask(running, map[Key]Verb{"a": AskActions, "e": Shell, "b": Open}[k])
	case "y":
		m.order(Order{Verb: Copy, Text: r.name})
	}
}

// having returns the row with some of its tasks.
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

// each orders something for the tasks of a row. For several, and to stop one, the user
// has to confirm it.
func (m *Model) each(r *row, v Verb, does, when string) {
	o := r.order(v)
	what := r.name
	switch n := len(r.tasks); {
	case n == 0:
		m.Say(fmt.Sprintf("no task of %s %s", r.name, when))
		return
	case n == 1 && v != Stop:
		m.order(o)
		return
	case n > 1:
		what = fmt.Sprintf("%d tasks of %s", n, r.name)
	}
	m.confirm(fmt.Sprintf("%s %s?", does, what), func() { m.order(o) })
}

// inTask orders something that concerns one task.
func (m *Model) inTask(r *row, v Verb) {
	switch len(r.tasks) {
	case 0:
		m.Say("no task of " + r.name + " is running")
	case 1:
		m.order(r.order(v))
	default:
		m.Say(fmt.Sprintf("%s has %d tasks: select one", r.name, len(r.tasks)))
	}
}

// scale asks for the count of a row's group.
func (m *Model) scale(r *row) {
	if r.group == "" {
		m.Say("select a group to scale it")
		return
	}
	count := 0
	for _, a := range m.run.Final() {
		if a.Job == r.job && a.Group == r.group && !a.Ended() {
			count++
		}
	}
	m.ask("count of group "+r.group, strconv.Itoa(count), func(text string) {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
		if err != nil {
			m.Fail(fmt.Errorf("cannot scale to %q: it is not a count", text))
			return
		}
		m.order(Order{Verb: Scale, Job: r.job, Group: r.group, Count: int(n), Label: r.group})
	})
}

// ChooseAction asks which of the actions of the order's task to run.
func (m *Model) ChooseAction(o Order, names []string) {
	switch {
	case len(names) == 0:
		m.Say(o.Label + " has no actions")
		return
	case m.askin != nil:
		return // the user has gone on
	}
	m.ask("action of "+o.Label+" ("+strings.Join(names, ", ")+")", names[0], func(name string) {
		o.Verb, o.Text = Action, strings.TrimSpace(name)
		m.order(o)
	})
}

// Mouse handles the mouse.
func (m *Model) Mouse(e Mouse) {
	switch {
	case m.help != nil:
		m.help.scroll(e.Wheel)
		return
	case m.askin != nil:
		return
	}
	a := m.areas()
	switch {
	case a.tree.has(e.X, e.Y):
		m.focus = onTree
		if e.Wheel != 0 {
			m.treeKey(map[bool]Key{true: "j", false: "k"}[e.Wheel > 0])
			return
		}
		rows, i := m.visible(), e.Y-a.tree.y
		if a.tree.height > 4 {
			i-- // the titles
		}
		if i >= 0 && i < len(rows) {
			if r := rows[i]; r.id == m.tree.at && !r.leaf {
				m.fold(r, !r.folded)
			} else {
				m.tree.at, m.tree.moved = r.id, true
			}
		}
	case a.pane.has(e.X, e.Y):
		m.focus = onPane
		for range max(e.Wheel, -e.Wheel) {
			m.panes[m.at].key(m, map[bool]Key{true: "down", false: "up"}[e.Wheel > 0])
		}
	case e.Click && a.tabs.has(e.X, e.Y):
		at := a.tabs.x
		for i, title := range m.tabs(a.tabs.width)[:len(m.panes)] {
			if at += len(title.Text); e.X < at {
				m.at = i
				return
			}
		}
	}
}
