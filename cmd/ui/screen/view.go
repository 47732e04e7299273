package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// area is a part of the screen.
type area struct{ x, y, width, height int }

func (a area) has(x, y int) bool {
	return x >= a.x && x < a.x+a.width && y >= a.y && y < a.y+a.height
}

// areas are the parts of the screen. Some have no height if there is no room.
type areas struct {
	tree, tabs, pane area
	beside           bool // the tree and the pane are beside each other
}

// wide is the number of columns from which on the tree and the pane are beside each
// other.
const wide = 120

// areas divides the screen, between the header and the line with the keys.
func (m *Model) areas() areas {
	w, h := m.width, max(0, m.height-2-len(m.news()))
	switch {
	case m.zoom && m.focus == onTree || h < 6 && m.focus == onTree:
		return areas{tree: area{0, 1, w, h}}
	case m.zoom || h < 6:
		return areas{tabs: area{0, 1, w, min(1, h)}, pane: area{0, 2, w, max(0, h-1)}}
	case w >= wide:
		left := w / 2
		return areas{
			tree: area{0, 1, left, h}, tabs: area{left + 1, 1, w - left - 1, 1}, pane: area{left + 1, 2, w - left - 1, h - 1},
			beside: true,
		}
	}
	top := max(3, min(len(m.tree.shown())+1, (h-1)*2/5))
	return areas{tree: area{0, 1, w, top}, tabs: area{0, 1 + top, w, 1}, pane: area{0, 2 + top, w, h - top - 1}}
}

// Moves reports whether the picture changes every second although nothing happens.
func (m *Model) Moves() bool {
	_, moves := m.panes[m.at].content.(*waterfallPane)
	return moves && m.history.ended == "" && m.help == nil && m.areas().pane.height > 0
}

// Lines returns the screen at a time: as many lines as it is high, each as wide as it
// is.
func (m *Model) Lines(now time.Time) []Line {
	m.history.now = now
	lines := make([]Line, 0, m.height)
	if m.height > 0 {
		lines = append(lines, m.header())
	}
	if m.help != nil {
		lines = append(lines, m.helpLines(m.height-2)...)
	} else {
		lines = append(lines, m.middle()...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, nil)
	}
	if m.help == nil {
		errs := m.news()
		lines = append(lines[:len(lines)-len(errs)], errs...)
	}
	if m.height > 1 {
		lines = append(lines, m.bottom())
	}
	for i := range lines {
		lines[i] = lines[i].Fit(m.width)
	}
	return lines
}

func (m *Model) middle() []Line {
	a := m.areas()
	tree := m.tree.lines(&m.measures, a.tree.width, a.tree.height)
	var pane []Line
	if a.tabs.height > 0 {
		pane = append(pane, m.tabs(a.tabs.width))
	}
	if a.pane.height > 0 {
		shown := m.panes[m.at].lines(a.pane.width, a.pane.height)
		pane = append(pane, shown[:min(len(shown), a.pane.height)]...)
	}
	if !a.beside {
		for a.tree.height > len(tree) {
			tree = append(tree, nil)
		}
		return append(tree, pane...)
	}
	lines := make([]Line, a.tree.height)
	for i := range lines {
		lines[i] = lineAt(tree, i).Fit(a.tree.width)
		lines[i] = append(lines[i], Span{"│", Quiet})
		lines[i] = append(lines[i], lineAt(pane, i)...)
	}
	return lines
}

func lineAt(lines []Line, i int) Line {
	if i < len(lines) {
		return lines[i]
	}
	return nil
}

// header returns the first line: the jobs, and how many tasks are in which state.
func (m *Model) header() Line {
	l := Line{Text(" taskrun ", Strong), Text(" "+m.opts.Title+" ", Plain)}
	counts := map[string]int{}
	styles := map[string]Style{}
	for _, a := range m.history.run.Final() {
		for _, t := range a.Tasks {
			state, style := taskState(t)
			counts[state]++
			styles[state] = style
		}
	}
	for _, state := range []string{"running", "stopping", "pending", "failed", "stopped", "complete"} {
		if counts[state] > 0 {
			l = append(l, Text(fmt.Sprintf(" %s %d ", state, counts[state]), styles[state]))
		}
	}
	if m.history.ended != "" {
		l = append(l, Text(" "+m.history.ended, Strong))
	}
	return l
}

// news returns lines above the last one: about the errors in the files of the run, until
// they are fixed, or else a message of several lines, as of a failed build, until the next
// key. They take at most a third of the screen.
func (m *Model) news() (lines []Line) {
	most := m.height / 3
	text, sum := m.history.run.Unfixed.Text, m.history.run.Unfixed.Unfixed
	if m.long() {
		text, sum = m.dialog.text, m.dialog.text
	}
	if sum == "" || most == 0 || m.history.ended != "" {
		return nil
	}
	texts := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	if most == 1 {
		texts = []string{sum}
	}
	for _, text := range texts[:min(len(texts), most)] {
		style := Plain
		if !strings.HasPrefix(text, " ") { // the others are details
			style = Bad
		}
		lines = append(lines, LineOf(text, style))
	}
	return lines
}

// long reports whether the latest message has several lines, and room above the last one.
func (m *Model) long() bool {
	return strings.Contains(m.dialog.text, "\n") && m.history.run.Unfixed.Unfixed == "" && m.height/3 > 1 && m.history.ended == ""
}

// tabs returns the line with the titles of the panes. Without room for all, the other
// panes have their numbers only.
func (m *Model) tabs(width int) Line {
	var detail Line
	if d, ok := m.panes[m.at].content.(interface{ detail() Line }); ok {
		detail = append(Line{{Text: " "}}, d.detail()...)
	}
	titles := m.titles(false)
	if titles.Width()+detail.Width() > width {
		titles = m.titles(true)
	}
	return append(titles, detail...)
}

func (m *Model) titles(short bool) (l Line) {
	for i, p := range m.panes {
		text, style := fmt.Sprintf(" %d %s ", i+1, p.title), Quiet
		if i == m.at {
			style = Strong
			style.Reverse = m.focus == onPane
		} else if short {
			text = fmt.Sprintf(" %d ", i+1)
		}
		l = append(l, Text(text, style))
	}
	return l
}

// bottom returns the last line: a question, a message, or the keys.
func (m *Model) bottom() Line {
	switch {
	case m.dialog.question != nil:
		return m.dialog.question.line(m.width)
	case m.dialog.text != "" && !m.long():
		style := Note
		if m.dialog.bad {
			style = Bad
		}
		return LineOf(strings.Join(strings.Fields(m.dialog.text), " "), style)
	}
	if m.help != nil {
		return Line{Text(" j k", Note), Text(" scroll ", Plain), Text(" esc", Note), Text(" back", Plain)}
	}
	bindings := treeBindings
	if m.focus == onPane {
		bindings = m.panes[m.at].bindings
	}
	last := globalBindings[len(globalBindings)-2:] // help and leave have room in any case
	l := Line{}
	for _, b := range slices.Concat(last, bindings, globalBindings[:len(globalBindings)-2]) {
		if b.does == "" {
			continue
		}
		key := Line{Text(" "+b.keys, Note), Text(" "+b.does+" ", Plain)}
		if l.Width()+key.Width() > m.width {
			break
		}
		l = append(l, key...)
	}
	return l
}

// helpLines returns a part of the help: the keys and their actions.
func (m *Model) helpLines(height int) []Line {
	lines := []Line{nil}
	add := func(title string, bindings []binding) {
		lines = append(lines, LineOf(" "+title, Strong))
		for _, b := range bindings {
			lines = append(lines, Line{Text(fmt.Sprintf("  %-9s ", b.keys), Note), Text(b.help, Plain)})
		}
	}
	p := m.panes[m.at]
	add(p.title, p.bindings)
	add("Tree", treeBindings)
	add("Everywhere", globalBindings)
	from, to := m.help.window(len(lines), max(0, height))
	return lines[from:to]
}
