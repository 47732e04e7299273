package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/prose"
	"taskrun/jobspec/visible"
)

// Table is text in columns, with the widths that a terminal displays.
type Table struct {
	words int // columns with words
	rows  []row
}

type row struct {
	paint func(string) string
	cells []string
}

// NewTable returns a table with headings. The first columns have words and are
// left-aligned, the others have numbers and are right-aligned.
func NewTable(style *Style, words int, heads ...string) *Table {
	t := &Table{words: words}
	t.Add(style.Strong, heads...)
	return t
}

// Add adds a row in a color.
func (t *Table) Add(paint func(string) string, cells ...string) {
	for i, cell := range cells {
		cells[i] = visible.String(cell)
	}
	t.rows = append(t.rows, row{paint, cells})
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.rows[0].cells))
	for _, r := range t.rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	return widths
}

// Fit shortens the first columns, the widest ones first, until the lines fit.
// If that is not enough, or the width is 0, it cuts nothing.
func (t *Table) Fit(width, columns int) *Table {
	widths, over := t.widths(), -width-2
	for _, w := range widths {
		over += w + 2
	}
	may := widths[:columns]
	for ; width > 0 && over > 0; over-- {
		widest := slices.Index(may, slices.Max(may))
		if may[widest] == 1 {
			return t
		}
		may[widest]--
	}
	for _, r := range t.rows {
		for i := range may {
			r.cells[i] = prose.Shorten(r.cells[i], may[i])
		}
	}
	return t
}

// Lines returns the rows, each colored as a whole.
func (t *Table) Lines() []string {
	widths, lines := t.widths(), make([]string, len(t.rows))
	for i, r := range t.rows {
		var b strings.Builder
		for col, cell := range r.cells {
			fill := strings.Repeat(" ", widths[col]-ansi.StringWidth(cell))
			if col < t.words {
				b.WriteString(cell + fill + "  ")
			} else {
				b.WriteString(fill + cell + "  ")
			}
		}
		lines[i] = r.paint(strings.TrimRight(b.String(), " "))
	}
	return lines
}
