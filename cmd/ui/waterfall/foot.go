package waterfall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
)

// Limits of the lists below the bars.
const (
	maxFailures = 5
	maxSteps    = 12
	shortStep   = 0.005 // of the path; shorter steps are left out if there are many
)

// foot returns what is below the bars, which must have been drawn: the legend, the
// first failures, and the critical path.
func (p *picture) foot() []string {
	lines := append(p.legend(), p.failures()...)
	lines = append(lines, p.critical()...)
	if p.Omitted > 0 {
		text := fmt.Sprintf("%d events and attempts are summarized, because there are too many", p.Omitted)
		lines = append(lines, "", p.Style.Quiet(p.cut(text)))
	}
	return lines
}

// failure is a mark of a task, or of the run.
type failure struct {
	trace.Mark
	name string
}

func (p *picture) failures() (lines []string) {
	var all []failure
	add := func(name string, marks []trace.Mark) {
		for _, m := range marks {
			if m.Weight == fold.Trouble && m.Kind != trace.AllocStatus {
				all = append(all, failure{m, name})
			}
		}
	}
	add("run", p.Marks)
	for _, r := range p.Rows {
		add(r.Name, r.Marks)
	}
	slices.SortStableFunc(all, func(a, b failure) int { return a.Time.Compare(b.Time) })
	for i, f := range all {
		if i == maxFailures {
			lines = append(lines, p.Style.Quiet(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		text := f.Title
		if f.Detail != "" {
			text += ": " + f.Detail
		}
		head := fmt.Sprintf("%s %s %s", p.glyphs[ofMark(f.Mark)], prose.Duration(f.Time.Sub(p.Begin)), prose.Shorten(prose.OneLine(f.name), p.name))
		lines = append(lines, p.Style.Bad(head)+p.Style.Plain(ansi.Truncate(": "+prose.OneLine(text), max(0, p.Width-prose.Width(head)), p.more())))
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

func (p *picture) critical() []string {
	if len(p.Critical) == 0 {
		return nil
	}
	name, took, short := 0, 0, 0
	var steps []trace.Step
	for _, s := range p.Critical {
		if s.Share < shortStep && len(p.Critical) > 4 || len(steps) == maxSteps {
			short++
			continue
		}
		steps = append(steps, s)
		name, took = max(name, prose.Width(prose.OneLine(nameOf(s)))), max(took, len(prose.Duration(s.Took())))
	}
	name = min(name, p.name)
	lines := []string{"", p.Style.Strong("critical path: " + prose.Duration(p.Length))}
	var before *trace.Row
	for _, s := range steps {
		who := prose.Shorten(prose.OneLine(nameOf(s)), name)
		text := fmt.Sprintf("  %3.0f%%  %*s  %s%*s  %s", 100*s.Share, took, prose.Duration(s.Took()), who, name-prose.Width(who), "", s.Kind)
		if s.Count > 1 {
			text += fmt.Sprintf(", %s", prose.Count(s.Count, "attempt"))
		}
		line, why := p.Style.Plain(ansi.Truncate(text, p.Width, p.more())), reason(s, before)
		before = s.Row
		if room := p.Width - prose.Width(text); why != "" && room > 12 {
			line += p.Style.Quiet(ansi.Truncate(" "+prose.OneLine(why), room, p.more()))
		}
		lines = append(lines, line)
	}
	if short > 0 {
		lines = append(lines, p.Style.Quiet("        and "+prose.Count(short, "short step")))
	}
	return lines
}

func nameOf(s trace.Step) string {
	if s.Row == nil {
		return "run"
	}
	return s.Row.Name
}

// reason returns what a step has waited for, or "". The step before it may be of the
// same row.
func reason(s trace.Step, before *trace.Row) (why string) {
	if s.Row == nil {
		return ""
	}
	for _, span := range s.Row.Spans {
		switch {
		case span.From.After(s.From):
			return why
		case span.Kind == trace.Waiting && s.Kind == trace.Waiting && span.For != "" && span.From.Equal(s.From):
			return "for " + span.For
		case span.Kind == trace.Waiting && s.Row != before && span.For != "":
			why = "after " + span.For
		case span.Kind == trace.Stopping && s.Kind == trace.Stopping && span.After != nil && span.From.Equal(s.From):
			why = "after the end of " + span.After.Name
		}
	}
	return why
}

func (p *picture) legend() (lines []string) {
	line, width := "", 0
	for g := waiting; g < glyphCount; g++ {
		if !p.seen[g] {
			continue
		}
		text := p.glyphs[g] + " " + meanings[g]
		if width > 0 && width+2+prose.Width(text) > p.Width {
			lines, line, width = append(lines, line), "", 0
		}
		if width > 0 {
			line += "  "
			width += 2
		}
		line += p.paint(g)(p.glyphs[g]) + " " + p.Style.Quiet(meanings[g])
		width += prose.Width(text)
	}
	if strings.TrimSpace(line) != "" {
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}
