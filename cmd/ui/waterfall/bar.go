package waterfall

import (
	"slices"
	"strings"
	"time"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
)

func (p *picture) column(at time.Time) int {
	total := p.End.Sub(p.from)
	if total <= 0 {
		return 0
	}
	return min(max(0, int(float64(at.Sub(p.from))/float64(total)*float64(p.bar))), p.bar-1)
}

func (p *picture) draw(r *trace.Row) string {
	bar := p.spans(r.Spans)
	for _, m := range r.Marks {
		p.mark(bar, m)
	}
	return p.text(bar, r.Spans)
}

// spans returns, for each column, the glyph of the span that took most of its time. A
// column always shows an attempt that lies within it.
func (p *picture) spans(spans []trace.Span) []glyph {
	bar := make([]glyph, p.bar)
	most := make([]time.Duration, p.bar)
	width := max(1, p.End.Sub(p.from)/time.Duration(p.bar))
	for _, s := range spans {
		if s.To.Before(p.from) {
			continue
		}
		first, last := p.column(s.From), p.column(s.To)
		for c := first; c <= last; c++ {
			from := p.from.Add(time.Duration(c) * width)
			in := min(s.To.Sub(from), width)
			if c == first {
				in = min(in, from.Add(width).Sub(s.From), s.Took())
			}
			if in > most[c] || bar[c] == blank && (in > 0 || s.Open) {
				bar[c], most[c] = ofSpan(s), in
			}
		}
	}
	for _, s := range spans {
		if s.From.Before(p.from) {
			continue
		}
		if c := p.column(s.From); s.Kind == trace.Running && c == p.column(s.To) && bar[c] < running {
			bar[c] = ofSpan(s)
		}
	}
	return bar
}

// mark draws a mark over what weighs less.
func (p *picture) mark(bar []glyph, m trace.Mark) {
	if m.Time.Before(p.from) {
		return
	}
	c := p.column(m.Time)
	if g := ofMark(m); g != blank && (bar[c] <= merged || bar[c] < g) {
		bar[c] = g
	}
}

// text returns a bar as text. A wait that is long enough says what for.
func (p *picture) text(bar []glyph, spans []trace.Span) string {
	labels := map[int]string{}
	for _, s := range spans {
		if s.Kind != trace.Waiting || s.For == "" || s.To.Before(p.from) {
			continue
		}
		first, last := p.column(s.From), p.column(s.To)
		label := " " + prose.OneLine(s.For) + " "
		if w := prose.Width(label); first+1+w < last && free(bar[first:first+1+w]) {
			labels[first+1] = label
		}
	}
	var b strings.Builder
	for c := 0; c < len(bar); {
		if label, ok := labels[c]; ok {
			b.WriteString(p.Style.Quiet(label))
			c += prose.Width(label)
			continue
		}
		g, n := bar[c], 1
		for ; c+n < len(bar) && bar[c+n] == g && labels[c+n] == ""; n++ {
		}
		p.seen[g] = true
		text := strings.Repeat(p.glyphs[g], n)
		if g != blank {
			text = p.paint(g)(text)
		}
		b.WriteString(text)
		c += n
	}
	return b.String()
}

// free reports whether there are no marks in a part of a bar.
func free(bar []glyph) bool {
	return !slices.ContainsFunc(bar, func(g glyph) bool { return g != waiting })
}

// ofRun draws what happens to the whole run, or returns "" if that is nothing of note.
func (p *picture) ofRun() string {
	bar := make([]glyph, p.bar)
	versions, note := 0, false
	for _, m := range p.Marks {
		switch m.Kind {
		case trace.Registration:
			versions++
		case trace.Evaluation:
		default:
			note = true
		}
		p.mark(bar, m)
	}
	if !note && versions < 2 {
		return ""
	}
	return p.line("run", p.Style.Quiet, p.text(bar, nil), "", "", p.Style.Plain)
}

func (p *picture) paint(g glyph) func(string) string {
	switch g {
	case waiting:
		return p.Style.Quiet
	case setup, evented, offered, deployed, registered:
		return p.Style.Note
	case running, passed, healthy:
		return p.Style.Good
	case restarting, stopping, merged:
		return p.Style.Waiting
	case failed, failedCheck:
		return p.Style.Bad
	default:
		return p.Style.Plain
	}
}
