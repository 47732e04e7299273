package report

import (
	"bytes"
	"slices"
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/redact"
)

// maxBytes limits how much of a line is examined on each side of a range.
const maxBytes = 4096

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
