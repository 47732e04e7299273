package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
)

// Bounds of the last screen, in lines: with headings, waits and hint they stay
// within the 20 lines of a small terminal.
const (
	maxFailureEvents = 4
	maxFailureOutput = 6
	maxFailureWaits  = 2
)

// failure returns the last screen of a run in which something failed: what
// failed first and why, and what to do. It is empty when nothing did.
func (c *closing) failure() []string {
	f := c.run.FirstFailure()
	if f == nil {
		return nil
	}
	t, s, cause := f.Task, c.errStyle, f.Task.Cause()
	others := c.alsoFailed(t)
	what := "failed: "
	if len(others) > 0 {
		what = "failed first: "
	}
	label := c.labels.of(t.Alloc.Name, t.Name)
	var lines []string
	for i, text := range wrap(label+" "+what+reason(cause), c.width-2, 2) {
		if i == 0 {
			lines = append(lines, s.Bad("✗")+" "+s.Strong(label)+s.Bad(strings.TrimPrefix(text, label)))
		} else {
			lines = append(lines, "  "+s.Bad(text))
		}
	}
	heading := fmt.Sprintf("  events of task %q in %s (%s)", t.Name, t.Alloc.Name, ui.ShortID(t.Alloc.ID))
	lines = append(lines, s.Quiet(ansi.Truncate(visible.String(heading), c.width, "…")))
	for _, e := range t.Events[max(0, len(t.Events)-maxFailureEvents):] {
		text := e.Time.Format("15:04:05.000") + " " + visible.String(e.Type)
		if e.DisplayMessage != "" {
			text += ": " + ui.OneLine(e.DisplayMessage)
		}
		lines = append(lines, "    "+ansi.Truncate(text, c.width-4, "…"))
	}
	if output := c.tails.last(t.Alloc.ID, t.Name, maxFailureOutput, c.width-6); len(output) > 0 {
		lines = append(lines, s.Quiet("  its last output"))
		for _, line := range output {
			lines = append(lines, "    "+s.Quiet(markStdout)+" "+line)
		}
	} else {
		lines = append(lines, s.Quiet("  it wrote nothing"))
	}
	lines = append(lines, c.waits(f)...)
	if len(others) > 0 {
		lines = append(lines, ansi.Truncate("  failed as well: "+strings.Join(others, ", "), c.width, "…"))
	}
	for _, text := range wrap(hint(cause), c.width-2, 2) {
		lines = append(lines, "  "+s.Note(text))
	}
	return lines
}

func (c *closing) waits(f *fold.Failure) []string {
	var lines []string
	for i, w := range f.Waiting {
		if i == maxFailureWaits-1 && len(f.Waiting) > maxFailureWaits {
			lines = append(lines, fmt.Sprintf("  and %d more waited", len(f.Waiting)-i))
			break
		}
		lines = append(lines, ansi.Truncate(fmt.Sprintf("  %s had not run: it waited for %s",
			c.labels.of(w.Task.Alloc.Name, w.Task.Name), visible.String(awaited(w))), c.width, "…"))
	}
	return lines
}

// awaited says what a task waits for, as in `main tasks "a", "b"`.
func awaited(w fold.Wait) string {
	what := ""
	switch w.For {
	case fold.ItsStart:
		return "its start"
	case fold.ItsRestart:
		return "its restart"
	case fold.PrestartEnd:
		what = "the end of prestart task"
	case fold.SidecarStart:
		what = "the start of prestart sidecar"
	case fold.MainStart:
		what = "the start of main task"
	}
	if len(w.Tasks) > 1 {
		what += "s"
	}
	quoted := make([]string, len(w.Tasks))
	for i, name := range w.Tasks {
		quoted[i] = strconv.Quote(name)
	}
	return what + " " + strings.Join(quoted, ", ")
}

// alsoFailed names the other tasks that failed and were not replaced.
func (c *closing) alsoFailed(first *fold.Task) []string {
	var names []string
	for _, a := range c.run.Final() {
		for _, t := range a.Tasks {
			label := c.labels.of(a.Name, t.Name)
			if t.Failed && t != first && label != c.labels.of(first.Alloc.Name, first.Name) {
				names = append(names, label)
			}
		}
	}
	return names
}

// wrap breaks a text into lines of a width, at spaces where there are any. What
// does not fit into so many lines is cut.
func wrap(text string, width, most int) (lines []string) {
	width = max(width, 10)
	for len(lines) < most-1 && ansi.StringWidth(text) > width {
		line := ansi.Truncate(text, width+1, "")
		if i := strings.LastIndexByte(line, ' '); i > width/2 {
			line = line[:i]
		} else {
			line = ansi.Truncate(text, width, "")
		}
		lines = append(lines, line)
		text = strings.TrimLeft(text[len(line):], " ")
	}
	if text != "" {
		lines = append(lines, ansi.Truncate(text, width, "…"))
	}
	return lines
}
