package help

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// columns is the maximum width of a line.
const columns = 80

// table formats the rows of a Markdown table: columns are aligned, long cells
// wrapped, and the header passes through bold.
func table(lines []string, bold func(string) string) string {
	rows := make([][]string, 0, len(lines))
	for _, line := range lines {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if strings.Trim(line, "|-") != "" {
			rows = append(rows, cells)
		}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for total(widths) > columns {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	var out strings.Builder
	for i, row := range rows {
		var text strings.Builder
		writeRow(&text, row, widths)
		if i == 0 {
			out.WriteString(bold(strings.TrimSuffix(text.String(), "\n")) + "\n")
			continue
		}
		out.WriteString(text.String())
	}
	return out.String()
}

// total returns the width of a line with these columns, separated by two
// spaces.
func total(widths []int) int {
	n := 2 * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// writeRow writes a row, in as many lines as its longest cell needs.
func writeRow(out *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(row))
	height := 0
	for i, cell := range row {
		cells[i] = wrap(cell, widths[i])
		height = max(height, len(cells[i]))
	}
	for n := range height {
		var line strings.Builder
		for i, cell := range cells {
			text := ""
			if n < len(cell) {
				text = cell[n]
			}
			line.WriteString(text + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text))+2))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// wrap breaks a text into lines of at most width characters; a longer word gets
// a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last]+" "+word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
