package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/jobspec/visible"
)

// row is a line of a table.
type row struct {
	cells []string
	paint func(string) string
}

// align sets rows in columns: the first ones, words, to the left, the others,
// numbers, to the right.
func align(rows []row, words int) []string {
	makeVisible(rows)
	widths := make([]int, len(rows[0].cells))
	for _, r := range rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		var b strings.Builder
		for col, cell := range r.cells {
			fill := strings.Repeat(" ", widths[col]-ansi.StringWidth(cell))
			if col < words {
				b.WriteString(cell + fill + "  ")
			} else {
				b.WriteString(fill + cell + "  ")
			}
		}
		lines[i] = r.paint(strings.TrimRight(b.String(), " "))
	}
	return lines
}

// makeVisible does that before cells are measured.
func makeVisible(rows []row) {
	for _, r := range rows {
		for i, cell := range r.cells {
			r.cells[i] = visible.String(cell)
		}
	}
}

// fit shortens the first columns, the widest ones first, until the lines fit.
// Where that is not enough, it cuts nothing.
func fit(rows []row, width, columns int) {
	makeVisible(rows)
	widths := make([]int, len(rows[0].cells))
	room := width + 2
	for i := range widths {
		for _, r := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(r.cells[i]))
		}
		room -= widths[i] + 2
	}
	may := widths[:columns]
	for ; room < 0; room++ {
		widest := slices.Index(may, slices.Max(may))
		if may[widest] == 1 {
			return
		}
		may[widest]--
	}
	for _, r := range rows {
		for i := range may {
			r.cells[i] = shorten(r.cells[i], may[i])
		}
	}
}
