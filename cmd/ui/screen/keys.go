package screen

import "strconv"

// Key handles a key.
func (m *Model) Key(k Key) {
	m.Say("")
	switch {
	case m.dialog.question != nil:
		m.dialog.key(k)
		return
	case m.help != nil && m.help.key(k):
		return
	case m.help != nil:
		m.help = nil
		return
	}
	if m.focus == onPane && m.panes[m.at].key(k) || m.focus == onTree && m.tree.key(k) {
		return
	}
	m.global(k)
}

// Paste handles a character that was pasted: it is typed into a question, but orders
// nothing.
func (m *Model) Paste(k Key) {
	if q := m.dialog.question; q != nil && q.choices == nil && k != "enter" {
		m.dialog.key(k)
	}
}

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
		m.dialog.ask("filter", m.tree.filter, func(string) {})
		m.dialog.question.typing = m.tree.limit
	case "ctrl+z", "ctrl+l", "m":
		m.dialog.order(Order{Verb: map[Key]Verb{"ctrl+z": Suspend, "ctrl+l": Redraw, "m": ToggleMouse}[k]})
	default:
		if r := m.tree.cursor(); r != nil {
			m.dialog.rowKey(m.history.run, r, k)
		}
	}
}

// escape undoes the last change of the view.
func (m *Model) escape() {
	switch {
	case m.tree.filter != "":
		m.tree.limit("")
	case m.zoom:
		m.zoom = false
	case m.focus == onPane:
		m.focus = onTree
	}
}

// leave asks how to leave the screen, if there is a choice.
func (m *Model) leave() {
	if len(m.opts.Leave) == 0 || m.history.ended != "" {
		m.dialog.order(Order{Verb: Leave})
		return
	}
	m.dialog.choose("leave?", m.opts.Leave, func(answer string) { m.dialog.order(Order{Verb: Leave, Text: answer}) })
}

// Mouse handles the mouse.
func (m *Model) Mouse(e Mouse) {
	switch {
	case m.help != nil:
		m.help.scroll(e.Wheel)
		return
	case m.dialog.question != nil:
		return
	}
	a := m.areas()
	switch {
	case a.tree.has(e.X, e.Y):
		m.focus = onTree
		if e.Wheel != 0 {
			m.tree.key(map[bool]Key{true: "j", false: "k"}[e.Wheel > 0])
			return
		}
		m.tree.click(e.Y-a.tree.y, a.tree.height)
	case a.pane.has(e.X, e.Y):
		m.focus = onPane
		for range max(e.Wheel, -e.Wheel) {
			m.panes[m.at].key(map[bool]Key{true: "down", false: "up"}[e.Wheel > 0])
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
