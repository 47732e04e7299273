package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/outcome"
	"taskrun/cmd/prose"
	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
)

// Limits of the last screen, in lines: with headings, waits and hint it fits on
// a small terminal with 20 lines.
const (
	maxFailureEvents = 4
	maxFailureOutput = 6
	maxFailureWaits  = 2
	maxFailureNames  = 4 // of tasks that failed in the same way
)

// failure returns the last screen of a run with a failure: the check that was
// not healthy, the first failure and its reason, and the remedy. It is empty if
// nothing failed.
func (c *closing) failure() []string {
	lines := c.checks()
	f := c.run.FirstFailure()
	if f == nil {
		return lines
	}
	maxOutput := max(1, maxFailureOutput-len(lines))
	t, s, cause := f.Task, c.errStyle, f.Task.Cause()
	same, others := c.failed(t)
	what := " failed: "
	if others != "" {
		what = " failed first: "
	}
	label := c.labels.of(t.Alloc.Name, t.Name)
	for i, text := range wrap(listed(same)+what+outcome.Why(cause), c.width-2, 2) {
		if i == 0 {
			lines = append(lines, s.Bad("✗")+" "+s.Strong(label)+s.Bad(strings.TrimPrefix(text, label)))
		} else {
			lines = append(lines, "  "+s.Bad(text))
		}
	}
	heading := fmt.Sprintf("  events of task %q in %s (%s)", t.Name, t.Alloc.Name, prose.ShortID(t.Alloc.ID))
	lines = append(lines, s.Quiet(ansi.Truncate(visible.String(heading), c.width, "…")))
	for _, e := range t.Events[max(0, len(t.Events)-maxFailureEvents):] {
		text := e.Time.Format("15:04:05.000") + " " + visible.String(e.Type)
		if e.DisplayMessage != "" {
			text += ": " + prose.OneLine(e.DisplayMessage)
		}
		lines = append(lines, "    "+ansi.Truncate(text, c.width-4, "…"))
	}
	if output := c.tails.last(t.Alloc.ID, t.Name, maxOutput, c.width-6); len(output) > 0 {
		lines = append(lines, s.Quiet("  its last output"))
		for _, line := range output {
			lines = append(lines, "    "+s.Quiet(markStdout)+" "+line)
		}
	} else {
		lines = append(lines, s.Quiet("  it wrote nothing"))
	}
	lines = append(lines, c.waits(f)...)
	if others != "" {
		lines = append(lines, ansi.Truncate("  failed as well: "+others, c.width, "…"))
	}
	for _, text := range wrap(outcome.Hint(cause), c.width-2, 2) {
		lines = append(lines, "  "+s.Note(text))
	}
	return lines
}

// checks names the first check that was failing when the run ended because of
// it, and counts the others.
func (c *closing) checks() []string {
	failing := outcome.FailingChecks(c.run, c.result)
	if len(failing) == 0 {
		return nil
	}
	first, s := failing[0], c.errStyle
	allocs := make([]string, len(first.Allocs))
	for i, a := range first.Allocs {
		allocs[i] = visible.String(a.Name)
	}
	head := fmt.Sprintf("check %q of service %q in %s: %s", first.Check.Check, first.Service, listed(allocs), first.Status)
	lines := []string{s.Bad("✗ " + ansi.Truncate(head, c.width-2, "…"))}
	for _, detail := range []struct{ name, text string }{{"target", first.Target}, {"last output", first.Output}} {
		if text := prose.OneLine(detail.text); text != "" {
			lines = append(lines, ansi.Truncate("  "+detail.name+": "+text, c.width, "…"))
		}
	}
	if n := len(failing) - 1; n > 0 {
		lines = append(lines, fmt.Sprintf("  and %s did not pass", prose.Count(n, "more check")))
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
		lines = append(lines, ansi.Truncate("  "+c.labels.of(w.Task.Alloc.Name, w.Task.Name)+" "+outcome.Waited(w), c.width, "…"))
	}
	return lines
}

// failed returns the tasks that failed in the same way as the first one,
// including it, and says why the others failed. Replaced tasks do not count.
func (c *closing) failed(first *fold.Task) (same []string, others string) {
	names := make(map[fold.Cause][]string)
	var causes []fold.Cause
	add := func(t *fold.Task) {
		cause, label := t.Cause(), c.labels.of(t.Alloc.Name, t.Name)
		if len(causes) > 0 && label == names[causes[0]][0] {
			return // the allocation that it replaced failed first
		}
		if names[cause] == nil {
			causes = append(causes, cause)
		}
		if !slices.Contains(names[cause], label) {
			names[cause] = append(names[cause], label)
		}
	}
	add(first)
	for _, a := range c.final() {
		for _, t := range a.Tasks {
			if t.Failed {
				add(t)
			}
		}
	}
	for _, cause := range causes[1:] {
		others += "; " + listed(names[cause])
		if cause.Reason != fold.Untold {
			others += ": " + outcome.Why(cause)
		}
	}
	return names[causes[0]], strings.TrimPrefix(others, "; ")
}

// listed joins the first names, and counts the rest.
func listed(names []string) string {
	if n := len(names) - maxFailureNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFailureNames], ", "), n)
	}
	return strings.Join(names, ", ")
}

// wrap breaks a text into lines of a width, at spaces if possible. It cuts what
// does not fit into most lines.
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
