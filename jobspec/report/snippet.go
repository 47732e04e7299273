package report

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"taskrun/jobspec"
	"taskrun/jobspec/redact"
)

const (
	// minRoom is the minimum width of the source text, in columns.
	minRoom = 20
	// maxBytes limits how much of a line is examined on each side of a range.
	maxBytes = 4096
)

// writeSnippet shows the line on which a range begins, with the range
// underlined.
func writeSnippet(b *strings.Builder, r jobspec.Range, source []byte, style Style) {
	if r.Start.Byte < 0 || r.Start.Byte > len(source) {
		return
	}
	before, marked, after := hideCredentials(split(source, r))
	if len(bytes.TrimSpace(before))+len(bytes.TrimSpace(marked))+len(bytes.TrimSpace(after)) == 0 {
		return // an empty line, as at the end of a file
	}
	number := strconv.Itoa(r.Start.Line)
	bar := style.Paint(Gutter, strings.Repeat(" ", len(number))+" |")
	room := 0
	if style.Width() > 0 {
		room = max(style.Width()-len(indent)-len(number)-len(" | "), minRoom)
	}
	begin := utf8.RuneCount(before)
	end := begin + utf8.RuneCount(marked)
	text, from, to := window(cellsOf(before, marked, after), begin, end, room)
	fmt.Fprintf(b, "%s%s %s\n", indent, style.Paint(Gutter, number+" |"), text)
	fmt.Fprintf(b, "%s%s %s%s\n", indent, bar, strings.Repeat(" ", from), style.Paint(Mark, strings.Repeat("^", max(to-from, 1))))
	if r.End.Line > r.Start.Line+1 {
		fmt.Fprintf(b, "%s%s %s\n", indent, bar, style.Paint(Gutter, fmt.Sprintf("… to line %d", r.End.Line)))
	}
}

// hideCredentials hides the credentials of URLs in the parts of a line. If a
// URL spans two parts, all of it is marked.
func hideCredentials(before, marked, after []byte) (_, _, _ []byte) {
	hide := func(text []byte) []byte { return []byte(redact.Text(string(text))) }
	whole := hide(slices.Concat(before, marked, after))
	b, m, a := hide(before), hide(marked), hide(after)
	if bytes.Equal(whole, slices.Concat(b, m, a)) {
		return b, m, a
	}
	return nil, whole, nil
}

// split returns the line on which a range begins, in three parts: before, in
// and after the range.
func split(source []byte, r jobspec.Range) (before, marked, after []byte) {
	begin := r.Start.Byte
	end := min(max(r.End.Byte, begin), len(source))
	before = source[bytes.LastIndexByte(source[:begin], '\n')+1 : begin]
	if len(before) > maxBytes {
		before = before[len(before)-maxBytes:]
	}
	rest, _, _ := bytes.Cut(source[begin:min(len(source), begin+maxBytes)], []byte("\n"))
	rest = bytes.TrimSuffix(rest, []byte("\r"))
	n := min(end-begin, len(rest))
	return before, rest[:n], rest[n:]
}

// window returns the part of a line that fits into room columns and contains as
// many as possible of the cells from begin to end, with their columns in it. A
// room of 0 has no limit.
func window(cells []cell, begin, end, room int) (text string, from, to int) {
	first, last := 0, len(cells)
	if room > 0 && widthOfAll(cells) > room {
		first, last = around(cells, begin, room-len([]rune("……")))
	}
	column := 0
	var b strings.Builder
	if first > 0 {
		b.WriteString("…")
		column = 1
	}
	from = column + widthOfAll(cells[first:min(begin, last)])
	to = column + widthOfAll(cells[first:min(max(end, first), last)])
	for _, c := range cells[first:last] {
		b.WriteString(c.text)
	}
	if last < len(cells) {
		b.WriteString("…")
	}
	return b.String(), from, to
}

// around returns the cells to show of a line that is too long: a third of the
// room is for the text before begin, or more if the text after it is short.
func around(cells []cell, begin, room int) (first, last int) {
	lead := room / 3
	if rest := widthOfAll(cells[begin:]); rest < room-lead {
		lead = room - rest
	}
	first = begin
	for used := 0; first > 0 && used+cells[first-1].width <= lead; first-- {
		used += cells[first-1].width
	}
	last = first
	for used := 0; last < len(cells) && used+cells[last].width <= room; last++ {
		used += cells[last].width
	}
	return first, last
}
