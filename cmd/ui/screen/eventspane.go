package screen

import (
	"slices"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
)

// eventsPane shows what happened to the tasks of the row with the cursor and, for a job,
// to the run.
type eventsPane struct {
	tail
	history *history
	tree    *tree
}

// happened is a mark of a task, or of the run.
type happened struct {
	trace.Mark
	name string
}

func (p *eventsPane) lines(width, height int) []Line {
	all := p.happened()
	if len(all) == 0 {
		return []Line{LineOf("nothing has happened yet", Quiet)}
	}
	from, to := p.window(len(all), height)
	all = all[from:to]
	name := 0
	for _, h := range all {
		name = max(name, prose.Width(prose.OneLine(h.name)))
	}
	name = min(name, max(8, width/4))
	var lines []Line
	for _, h := range all {
		l := Line{Text(p.history.local(h.Time).Format("15:04:05 "), Quiet)}
		l = append(l, LineOf(prose.Shorten(prose.OneLine(h.name), name), Note).Fit(name)...)
		l = append(l, Span{Text: " "}, Text(prose.OneLine(h.Title), markStyle(h.Mark)))
		if h.Detail != "" {
			l = append(l, Text("  "+prose.OneLine(h.Detail), Plain))
		}
		lines = append(lines, l)
	}
	return lines
}

// happened returns the marks of the row with the cursor, in order of time.
func (p *eventsPane) happened() (all []happened) {
	r := p.tree.cursor()
	if r == nil {
		return nil
	}
	t := p.history.traced()
	wanted := make(map[Target]bool, len(r.tasks))
	for _, target := range targetsOf(r.tasks) {
		wanted[target] = true
	}
	for _, row := range t.Rows {
		if !wanted[targetOf(row.Alloc, row.Task)] {
			continue
		}
		for _, mark := range row.Marks {
			all = append(all, happened{mark, row.Name})
		}
	}
	if r.level == jobRow {
		for _, mark := range t.Marks {
			all = append(all, happened{mark, "run"})
		}
	}
	slices.SortStableFunc(all, func(a, b happened) int { return a.Time.Compare(b.Time) })
	return all
}

func markStyle(m trace.Mark) Style {
	switch {
	case m.Good:
		return Good
	case m.Weight == fold.Trouble:
		return Bad
	case m.Weight == fold.Setback:
		return Wait
	}
	return Strong
}
