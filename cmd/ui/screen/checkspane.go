package screen

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"taskrun/cmd/prose"
	"taskrun/engine/fold"
)

// checksPane shows the services of the row with the cursor, and their checks.
type checksPane struct {
	scroller
	history *history
	tree    *tree
}

// The statuses of checks, besides failure.
const (
	checkPasses  = "success"
	checkPending = "pending"
)

// maxOutput limits the lines that are shown of the output of a check.
const maxOutput = 5

func (p *checksPane) lines(_, height int) []Line {
	var lines []Line
	if r := p.tree.cursor(); r != nil {
		for i, t := range r.tasks {
			if i == 0 || t.Alloc != r.tasks[i-1].Alloc {
				lines = append(lines, servicesOf(t.Alloc, p.history.allocLabel(t.Alloc))...)
			}
		}
	}
	if len(lines) == 0 {
		return []Line{LineOf("no services", Quiet)}
	}
	from, to := p.window(len(lines), height)
	return lines[from:to]
}

// servicesOf returns the services of an allocation with their checks, below its label, or
// nothing.
func servicesOf(a *fold.Alloc, label string) (lines []Line) {
	shown := map[string]bool{} // services by name
	for _, s := range a.Services {
		if !s.Registered {
			continue
		}
		at := s.Address
		if s.Port > 0 {
			at = net.JoinHostPort(at, strconv.Itoa(s.Port))
		}
		lines = append(lines, Line{Text(" "+s.Name, Strong), Text("  "+at, Plain)})
		if !shown[s.Name] {
			shown[s.Name] = true
			lines = append(lines, checksOf(a, s.Name)...)
		}
	}
	for _, c := range a.Checks { // of a service that is not registered yet, or no longer
		if !shown[c.Service] {
			shown[c.Service] = true
			lines = append(lines, Line{Text(" "+c.Service, Strong), Text("  not registered", Quiet)})
			lines = append(lines, checksOf(a, c.Service)...)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]Line{LineOf(label, Note)}, lines...)
}

// checksOf returns the checks of a service, with the output of those that do not pass.
func checksOf(a *fold.Alloc, service string) (lines []Line) {
	for _, c := range a.Checks {
		if c.Service != service {
			continue
		}
		style := Bad
		switch c.Status {
		case checkPasses:
			style = Good
		case checkPending:
			style = Wait
		}
		l := Line{Text(fmt.Sprintf("   %-8s", c.Status), style), Text(c.Check, Plain)}
		if c.Target != "" {
			l = append(l, Text("  "+c.Target, Quiet))
		}
		lines = append(lines, l)
		if c.Status == checkPasses {
			continue
		}
		output := nonEmpty(c.Output)
		for _, text := range output[:min(len(output), maxOutput)] {
			lines = append(lines, LineOf("           "+prose.OneLine(text), Quiet))
		}
	}
	return lines
}

func nonEmpty(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
