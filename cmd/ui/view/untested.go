package view

import (
	"fmt"

	"taskrun/cmd/ui"
)

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
		lines = append(lines, c.errStyle.Quiet("  "+ui.OneLine(text)))
	}
	return lines
}
