// Package report writes diagnostics of a job file as text: the summary, the place,
// the line of the source with the place underlined, the detail, and the remedy.
package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// Kind is a part of a report with its own look.
type Kind int

const (
	// Failure is the severity and the summary of an error.
	Failure Kind = iota
	// Caution is the severity and the summary of a warning, a notice or a hint.
	Caution
	// Location is the file and line.
	Location
	// Gutter is the number of a source line and the bar after it.
	Gutter
	// Mark is the underline.
	Mark
	// Remedy is the remedy.
	Remedy
)

// Style determines the look of reports.
type Style interface {
	// Width returns the available columns; 0 means no limit.
	Width() int
	// Paint returns text in the look of a kind. Without the look, the text must
	// be the same.
	Paint(kind Kind, text string) string
}

// Render writes one diagnostic. The sources, by file name, provide the line to
// show, if any.
//
//	error: unknown attribute "drivr" in task
//	  web.nomad.hcl:4:7
//	  4 |       drivr = "raw_exec"
//	    |       ^^^^^
//	  did you mean "driver"?
func Render(w io.Writer, p jobspec.Diagnostic, sources map[string][]byte, style Style) error {
	var b strings.Builder
	kind := Caution
	if p.Severity == jobspec.Error {
		kind = Failure
	}
	for i, line := range wrap(fmt.Sprintf("%s: %s", p.Severity, p.Summary), style.Width()-len(indent)) {
		if i > 0 {
			line = indent + line
		}
		b.WriteString(style.Paint(kind, line) + "\n")
	}
	if !p.Range.IsZero() {
		b.WriteString(indent + style.Paint(Location, location(p.Range)) + "\n")
		writeSnippet(&b, p.Range, sources[p.Range.File], style)
	}
	for _, line := range wrap(p.Detail, style.Width()-len(indent)) {
		b.WriteString(indent + line + "\n")
	}
	for _, line := range wrap(p.Remedy, style.Width()-len(indent)) {
		b.WriteString(indent + style.Paint(Remedy, line) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// RenderAll writes diagnostics with an empty line between them.
func RenderAll(w io.Writer, diagnostics jobspec.Diagnostics, sources map[string][]byte, style Style) error {
	for i, p := range diagnostics {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := Render(w, p, sources, style); err != nil {
			return err
		}
	}
	return nil
}

const (
	// indent is the indentation of all lines but the first.
	indent = "  "
	// minRoom is the minimum width of the source text, in columns.
	minRoom = 20
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

// location returns the place in the form that editors and terminals recognize.
func location(r jobspec.Range) string {
	return fmt.Sprintf("%s:%d:%d", visible.String(r.File), r.Start.Line, r.Start.Column)
}
