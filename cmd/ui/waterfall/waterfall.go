// Package waterfall draws the trace of a run for a terminal: a row per task with
// bars for its spans, marks for its events, and the critical path. It is pure: a
// trace in, lines out.
package waterfall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
)

// Lines returns the picture of a trace.
func Lines(t *trace.Trace, opts Options) []string {
	p := newPicture(t, opts)
	if len(t.Rows) == 0 {
		return []string{p.cut("no task has started yet")}
	}
	head := []string{p.title(), ""}
	for _, r := range t.Rows {
		p.cells[r].bar = p.draw(r)
	}
	ofRun := p.ofRun()
	foot := p.foot()
	rows := t.Rows
	hidden := 0
	if opts.Height > 0 {
		if room := opts.Height - len(head) - len(foot) - 3; room < len(rows) {
			foot = p.legend()
			rows, hidden = p.choose(max(1, opts.Height-len(head)-len(foot)-3))
		}
	}
	lines := append(head, p.axis())
	if ofRun != "" {
		lines = append(lines, ofRun)
	}
	for _, r := range rows {
		lines = append(lines, p.row(r))
	}
	if hidden > 0 {
		lines = append(lines, p.Style.Quiet(p.cut(fmt.Sprintf("%s more", prose.Count(hidden, "task")))))
	}
	return append(lines, foot...)
}

func (p *picture) title() string {
	s := p.Style
	jobs := prose.OneLine(strings.Join(p.Jobs, ", "))
	so, paint := "after", s.Good
	switch {
	case p.Live:
		so = "for"
	case p.Status == api.AllocClientStatusFailed || p.Status == api.AllocClientStatusLost:
		paint = s.Bad
	}
	status := fmt.Sprintf("%s %s %s", prose.OneLine(p.Status), so, prose.Duration(p.End.Sub(p.Begin)))
	began := ""
	if !p.Begin.IsZero() {
		began = "  began " + p.Begin.In(cmp.Or(p.Zone, time.UTC)).Format("2006-01-02 15:04:05")
	}
	room := p.Width - prose.Width(status) - 2
	if len(began) < room-20 {
		room -= len(began)
	} else {
		began = ""
	}
	return s.Strong(prose.Shorten(jobs, max(4, room))) + "  " + paint(status) + s.Quiet(began)
}

func (p *picture) row(r *trace.Row) string {
	paint := p.Style.Plain
	switch {
	case r.Failed, r.State != "dead" && !p.Live:
		paint = p.Style.Bad
	case r.State != "dead":
		paint = p.Style.Good
	}
	c := p.cells[r]
	return p.line(r.Name, p.Style.Plain, c.bar, c.took, c.result, paint)
}

// choose returns the most interesting rows if there is room for a number of them:
// first those that have not ended, then those that ended last. It also returns how
// many it omits.
func (p *picture) choose(room int) (rows []*trace.Row, hidden int) {
	shown := map[*trace.Row]bool{}
	for _, ended := range []bool{false, true} {
		for i := len(p.Rows) - 1; i >= 0 && len(shown) < room; i-- {
			if r := p.Rows[i]; (r.State == "dead") == ended {
				shown[r] = true
			}
		}
	}
	rows = slices.DeleteFunc(slices.Clone(p.Rows), func(r *trace.Row) bool { return !shown[r] })
	return rows, len(p.Rows) - len(rows)
}
