package page

import (
	"bufio"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
)

// The measures of a picture, in pixels.
const (
	pictureWidth = 1200
	rowHeight    = 24
	topHeight    = 92
	margin       = 16
	tookWidth    = 70
	charWidth    = 6.7 // of a typical character
	mostRows     = 300
	mostTicks    = 10
	leastWidth   = 1.5 // of a span
	markDistance = 7   // marks that are closer are drawn as one
)

type picture struct {
	*bufio.Writer
	trace     *trace.Trace
	rows      []*trace.Row
	left      float64 // of the bars
	width     float64
	perSecond float64 // pixels
}

// draw draws a trace, with a style of its own or that of the page around it.
func draw(out *bufio.Writer, t *trace.Trace, style string) {
	p := picture{Writer: out, trace: t, rows: t.Rows[:min(len(t.Rows), mostRows)]}
	longest := 10
	for _, r := range p.rows {
		longest = max(longest, utf8.RuneCountInString(r.Name))
	}
	p.left = margin + 30 + min(float64(longest)*charWidth, 300)
	p.width = pictureWidth - margin - tookWidth - p.left
	p.perSecond = p.width / max(t.End.Sub(t.Begin).Seconds(), 1e-6)
	height := topHeight + len(p.rows)*rowHeight + 44

	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" class="taskrun" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img">`+"\n", pictureWidth, height)
	fmt.Fprintf(p, "<title>%s</title>\n<desc>%s</desc>\n", escape(title(t)), escape(p.describe()))
	if style != "" {
		fmt.Fprintf(p, "<style>\n%s</style>\n", style)
	}
	fmt.Fprintf(p, `<rect class="back" width="%d" height="%d"/>`+"\n", pictureWidth, height)
	p.text(margin, 30, "heading", title(t))
	p.text(margin, 52, "dim", p.describe())
	p.axis(float64(topHeight + len(p.rows)*rowHeight))
	for i, r := range p.rows {
		p.row(topHeight+i*rowHeight, r)
	}
	p.critical()
	p.legend(float64(topHeight + len(p.rows)*rowHeight + 28))
	p.WriteString("</svg>\n")
}

// describe says in one line how the run went.
func (p *picture) describe() string {
	t := p.trace
	parts := []string{t.Status, "began " + t.Begin.UTC().Format("2006-01-02 15:04:05 UTC"), "took " + duration(t.End.Sub(t.Begin))}
	if t.Live {
		parts[2] = "has run for " + duration(t.End.Sub(t.Begin))
	}
	if len(t.Critical) > 0 {
		parts = append(parts, "critical path "+duration(t.Length))
	}
	tasks := prose.Count(len(t.Rows), "task")
	if len(p.rows) < len(t.Rows) {
		tasks += fmt.Sprintf(" (the first %d are shown)", len(p.rows))
	}
	return strings.Join(append(parts, tasks), " · ")
}

func (p *picture) x(t time.Time) float64 { return p.left + t.Sub(p.trace.Begin).Seconds()*p.perSecond }

func (p *picture) text(x, y float64, class, text string) {
	fmt.Fprintf(p, `<text x="%s" y="%s" class="%s">%s</text>`+"\n", number(x), number(y), class, escape(text))
}

// axis draws ticks with their times, the marks of the whole run, and a line down
// to the last row for each tick.
func (p *picture) axis(bottom float64) {
	length := p.trace.End.Sub(p.trace.Begin)
	var grid outlines
	for _, at := range trace.Ticks(length, func(step time.Duration) bool { return length/step < mostTicks }) {
		x := p.left + at.Seconds()*p.perSecond
		grid.add("grid", "M", x, topHeight-6., "v", bottom-topHeight+6)
		p.text(x, topHeight-12, "dim tick", trace.TickLabel(at))
	}
	grid.write(p)
	p.marks(topHeight-31, p.trace.Marks)
}

func (p *picture) row(y int, r *trace.Row) {
	middle := float64(y) + rowHeight/2
	glyph := glyphs[state(r)]
	p.text(margin, middle+4, glyph.class, glyph.text)
	p.text(margin+18, middle+4, "name", prose.Shorten(prose.OneLine(r.Name), int((p.left-margin-28)/charWidth)))
	end := -1.0
	var bars outlines
	for _, s := range r.Spans {
		x1, x2 := p.x(s.From), p.x(s.To)
		x1, x2 = max(x1, end), max(x2, x1+leastWidth)
		if x2 < x1+leastWidth {
			continue // something is drawn there already
		}
		bars.box(s.Kind.String(), x1, middle-heights[s.Kind]/2, x2-x1, heights[s.Kind])
		if s.Count > 1 {
			bars.add("merged", "M", x1+2, middle, "h", x2-x1-4)
		}
		end = x2
	}
	bars.write(p)
	p.marks(middle, r.Marks)
	p.text(pictureWidth-margin, middle+4, "dim end", took(r))
}

// marks draws marks, those that are too close to each other as one: the one that
// matters most.
func (p *picture) marks(y float64, marks []trace.Mark) {
	var drawn outlines
	for i := 0; i < len(marks); i++ {
		m := marks[i]
		for ; i+1 < len(marks) && p.x(marks[i+1].Time)-p.x(m.Time) < markDistance; i++ {
			if marks[i+1].Weight > m.Weight {
				m = marks[i+1]
			}
		}
		drawn.mark(m.Kind, m.Weight, p.x(m.Time), y)
	}
	drawn.write(p)
}

// critical draws the critical path: a line below what belongs to it, joined
// across the rows.
func (p *picture) critical() {
	bottom := func(row int) float64 { return float64(topHeight + row*rowHeight + rowHeight - 3) }
	last := -1
	var path outlines
	for _, s := range p.trace.Critical {
		row := slices.Index(p.rows, s.Row)
		if row < 0 {
			continue
		}
		x := p.x(s.From)
		path.box("critical", x, bottom(row), max(p.x(s.To)-x, leastWidth), 2.5)
		if last >= 0 && last != row {
			path.box("critical", x-.75, min(bottom(last), bottom(row)), 1.5, math.Abs(bottom(row)-bottom(last)))
		}
		last = row
	}
	path.write(p)
}

func (p *picture) legend(y float64) {
	x := p.left
	var shapes outlines
	name := func(width float64, text string) {
		p.text(x+width+6, y+4, "dim", text)
		x += width + 22 + charWidth*float64(len(text))
	}
	for _, k := range trace.Kinds {
		shapes.box(k.String(), x, y-heights[k]/2, 16, heights[k])
		name(16, k.String())
	}
	if len(p.trace.Critical) > 0 {
		shapes.box("critical", x, y, 16, 2.5)
		name(16, "critical path")
	}
	seen := map[trace.MarkKind]bool{}
	for _, m := range p.trace.Marks {
		seen[m.Kind] = true
	}
	for _, r := range p.rows {
		for _, m := range r.Marks {
			seen[m.Kind] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		shapes.mark(k, fold.Ordinary, x+5, y)
		name(10, string(k))
	}
	shapes.write(p)
}
