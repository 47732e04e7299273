package report

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/jobspec/visible"
)

// A cell is a displayed character.
type cell struct {
	text  string
	width int // in columns
}

const tabStop = 4

// cellsOf returns the characters of the parts of a line, one cell each. Tabs
// become spaces, and control characters are made visible.
func cellsOf(parts ...[]byte) []cell {
	var runes []rune
	for _, part := range parts {
		runes = append(runes, []rune(string(part))...)
	}
	cells := make([]cell, len(runes))
	column := 0
	for i, r := range runes {
		c := cell{string(r), ansi.StringWidth(string(r))}
		switch {
		case r == '\t':
			c.width = tabStop - column%tabStop
			c.text = strings.Repeat(" ", c.width)
		case !visible.Shown(r):
			c.text = visible.String(string(r))
			c.width = len(c.text)
		}
		cells[i] = c
		column += c.width
	}
	return cells
}

func widthOfAll(cells []cell) int {
	total := 0
	for _, c := range cells {
		total += c.width
	}
	return total
}

// wrap breaks text into lines of at most columns; a longer word gets a line of
// its own. 0 columns mean no limit.
func wrap(text string, columns int) []string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line, used := "", 0
		for _, word := range strings.Fields(paragraph) {
			word = visible.String(word)
			n := ansi.StringWidth(word)
			if line != "" && columns > 0 && used+1+n > columns {
				lines = append(lines, line)
				line, used = "", 0
			}
			if line != "" {
				line += " "
				used++
			}
			line += word
			used += n
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
