package screen

import (
	"fmt"
	"strings"
)

// lines returns the visible rows of the tree, below their titles.
func (t *tree) lines(m *measures, width, height int) []Line {
	if height == 0 {
		t.height = 0 // and show the same rows again
		return nil
	}
	rows := t.shown()
	c := columnsFor(width, longest(rows))
	var lines []Line
	if titled(height) {
		lines = append(lines, c.titles())
		height--
	}
	t.height = height
	at := max(0, t.find(t.at))
	t.top = max(0, min(t.top, len(rows)-height))
	t.top = min(max(t.top, at-height+1), at)
	for _, r := range t.visible() {
		line := c.row(r, m, r.leaf && t.marked[targetOf(r.alloc.Alloc, r.tasks[0].Name)])
		if r.id == t.at {
			line = line.Fit(width).Reversed()
			if *t.focus != onTree {
				for i := range line {
					line[i].Reverse, line[i].Underlined = false, true
				}
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// titled reports whether there is room for titles above the rows.
func titled(height int) bool { return height > 4 }

// columns are the widths of the columns of the tree; 0 for those without room.
type columns struct{ name, state, health, restarts, cpu, memory, ports int }

// longest returns the room that the longest name takes, with a blank.
func longest(rows []*row) (n int) {
	for _, r := range rows {
		n = max(n, 2*int(r.level)+2+len(r.label)+1) // not its width, which takes longer to count
	}
	return n
}

// columnsFor returns the columns of a screen. Ports are next to useless if they are cut,
// and get what names leave.
func columnsFor(width, names int) columns {
	c := columns{state: 12}
	left := width - c.state - 20 // at least as much for names
	take := func(column *int, n int) {
		if left >= n {
			*column = n
			left -= n
		}
	}
	take(&c.restarts, 5)
	take(&c.cpu, 7)
	take(&c.memory, 10)
	take(&c.health, 10)
	take(&c.ports, min(24, max(8, left/2, left-max(0, names-20))))
	c.name = 20 + left
	if width < 36 {
		c = columns{name: max(0, width-10), state: min(10, width)}
	}
	return c
}

func (c columns) titles() Line {
	return c.line(Span{Text: "  NAME"}, [6]Span{{Text: "STATE"}, {Text: "HEALTH"}, {Text: "RST"}, {Text: "CPU"}, {Text: "MEMORY"}, {Text: "PORTS"}}).styled(Quiet)
}

func (l Line) styled(s Style) Line {
	for i := range l {
		l[i].Style = s
	}
	return l
}

// line returns a line of the columns: name, state, health, restarts, CPU, memory, ports.
func (c columns) line(name Span, rest [6]Span) Line {
	l := Line{name}.Fit(max(0, c.name-1))
	widths := [6]int{c.state, c.health, c.restarts, c.cpu, c.memory, c.ports}
	for i, s := range rest {
		w := widths[i]
		if w == 0 {
			continue
		}
		l = append(l, Span{Text: " "})
		cell := Line{s}
		if right := i >= 2 && i <= 4; right {
			if pad := w - 1 - cell.Width(); pad > 0 {
				cell = Line{{Text: strings.Repeat(" ", pad)}, s}
			}
		}
		l = append(l, cell.Fit(w-1)...)
	}
	return l
}

func (c columns) row(r *row, m *measures, marked bool) Line {
	sign := "  "
	switch {
	case r.folded:
		sign = "▸ "
	case !r.leaf:
		sign = "▾ "
	case marked:
		sign = "◆ "
	}
	state, style := r.state()
	health, healthStyle := r.health()
	restarts := ""
	if n := r.restarts(); n > 0 {
		restarts = fmt.Sprint(n)
	}
	cpu, memory := m.usageOf(r)
	return c.line(Text(strings.Repeat("  ", int(r.level))+sign+r.label, Plain), [6]Span{
		Text(state, style), Text(health, healthStyle), Text(restarts, Wait), Text(cpu, Plain), Text(memory, Plain), Text(m.portsOf(r), Note),
	})
}
