package view

import (
	"fmt"
	"slices"
	"strconv"

	"taskrun/cmd/outcome"
	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
)

// maxRows limits the tasks in the closing table; if there are more, it shows
// failures and counts the rest.
const maxRows = 60

// closing is the text shown when a run has ended.
type closing struct {
	*common
	labels *labels
	width  int
	narrow bool
	result Result
}

func newClosing(p *printer, r Result) *closing {
	c := &closing{p.common, p.labels, widthOfLogs, p.streams.Narrow(), r}
	if p.streams.ErrTerm {
		c.width = p.streams.Width()
	}
	return c
}

// table returns the closing table: task, state, exit code, restarts, duration,
// and the replacements of its allocation if there are any. Tasks that the user does
// not want to see are only counted, unless they failed.
func (c *closing) table() []string {
	heads := []string{"TASK", "STATE", "EXIT", "RESTARTS", "DURATION"}
	if c.narrow {
		heads[3], heads[4] = "RST", "TIME"
	}
	var tasks []*fold.Task
	final, hidden := c.final(), 0
	for _, a := range final {
		for _, t := range a.Tasks {
			if c.Shows == nil || t.Failed || c.Shows(a.Alloc, t.Name) {
				tasks = append(tasks, t)
			} else {
				hidden++
			}
		}
	}
	replaced := slices.ContainsFunc(final, func(a *fold.Alloc) bool { return a.Replacements() > 0 })
	if replaced {
		heads = append(heads, "REPLACED")
	}
	table, left := ui.NewTable(c.errStyle, 2, heads...), 0
	for _, t := range tasks {
		if len(tasks) > maxRows && t.State == "dead" && !t.Failed {
			left++
			continue
		}
		paint, cells := c.row(t)
		if replaced {
			cells = append(cells, strconv.Itoa(t.Alloc.Replacements()))
		}
		table.Add(paint, cells...)
	}
	lines := table.Lines()
	if left > 0 {
		lines = append(lines, c.errStyle.Quiet(fmt.Sprintf("and %s that did not fail", prose.Count(left, "task"))))
	}
	if hidden > 0 {
		lines = append(lines, c.errStyle.Quiet(fmt.Sprintf("and %s that did not fail, which --task or --group hides", prose.Count(hidden, "task"))))
	}
	return lines
}

// final returns the allocations that nothing has replaced, in the order of their
// jobs.
func (c *closing) final() []*fold.Alloc {
	final := c.run.Final()
	slices.SortStableFunc(final, func(a, b *fold.Alloc) int { return c.labels.compare(a.Alloc, b.Alloc) })
	return final
}

func (c *closing) row(t *fold.Task) (paint func(string) string, cells []string) {
	paint = c.errStyle.Quiet
	state, exit, took := t.State, "-", "-"
	switch {
	case t.Failed:
		paint = c.errStyle.Bad
		state += ", failed"
	case t.Halted:
		state = "stopped"
	case t.State == "dead" && t.ExitCode != nil && *t.ExitCode == 0 && !t.Stopped():
		paint = c.errStyle.Good
	}
	if t.ExitCode != nil {
		exit = strconv.Itoa(*t.ExitCode)
	}
	if !t.Started.IsZero() {
		took = prose.Duration(t.Took(c.run.Latest))
	}
	return paint, []string{c.labels.of(t.Alloc.Name, t.Name), state, exit, strconv.FormatUint(t.Restarts, 10), took}
}

func (c *closing) verdict() string {
	text := outcome.Verdict(c.run, c.Begin, c.result)
	switch {
	case c.result.User && c.run.FirstFailure() == nil:
		return c.errStyle.Quiet("■ " + text)
	case c.result.ExitCode == 0:
		return c.errStyle.Good("✓ " + text)
	}
	return c.errStyle.Bad("✗ " + text)
}

// maxUntested limits the lines about what a rehearsal has not tested. With
// --verbose there is no limit.
const maxUntested = 30

// untested returns a line for everything that a rehearsal has not tested.
func (c *closing) untested() (lines []string) {
	if len(c.Untested) == 0 {
		return nil
	}
	lines = []string{"", c.errStyle.Quiet("not tested:")}
	for i, d := range c.Untested {
		if i == maxUntested && !c.Verbose {
			left := len(c.Untested) - maxUntested
			return append(lines, c.errStyle.Quiet(fmt.Sprintf("  and %d more: --verbose shows them", left)))
		}
		text := d.Summary
		if d.File != "" {
			text = fmt.Sprintf("%s:%d: %s", d.File, d.Line, text)
		}
		lines = append(lines, c.errStyle.Quiet("  "+prose.OneLine(text)))
	}
	return lines
}
