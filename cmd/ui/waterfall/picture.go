package waterfall

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/cmd/report/trace"
	"taskrun/cmd/ui"
)

// Options say how a trace is drawn.
type Options struct {
	Width int // columns
	// Height limits the lines; 0 means no limit. Tasks that have ended are left out first.
	Height int
	Style  *ui.Style
	ASCII  bool           // the terminal has no other characters
	Zone   *time.Location // of the time of the beginning
	// Last limits the bars to the last part of the run; 0 means that they show all
	// of it.
	Last time.Duration
}

// Widths, in columns.
const (
	leastWidth = 24 // narrower pictures are not drawn
	leastBar   = 12
	narrow     = 60 // below it, results are short
)

// Headings of columns.
const (
	nameHead   = "TASK"
	tookHead   = "TIME"
	resultHead = "RESULT"
)

// picture is a picture in the making.
type picture struct {
	*trace.Trace
	Options
	from         time.Time // where bars begin
	glyphs       *glyphs
	name, bar    int // widths of columns
	took, result int // widths of columns; 0: left out
	cells        map[*trace.Row]*cells
	seen         map[glyph]bool // glyphs that were drawn
}

// cells are the texts in the columns of a task, behind its name.
type cells struct{ bar, took, result string }

func newPicture(t *trace.Trace, opts Options) *picture {
	opts.Width = max(opts.Width, leastWidth)
	p := &picture{
		Trace: t, Options: opts, from: t.Begin, glyphs: &unicodeGlyphs, cells: map[*trace.Row]*cells{}, seen: map[glyph]bool{},
	}
	if opts.ASCII {
		p.glyphs = &asciiGlyphs
	}
	if from := t.End.Add(-opts.Last); opts.Last > 0 && from.After(t.Begin) {
		p.from = from
	}
	p.name, p.took, p.result = prose.Width(nameHead), prose.Width(tookHead), prose.Width(resultHead)
	for _, r := range t.Rows {
		c := &cells{took: took(r), result: prose.OneLine(p.outcome(r))}
		p.cells[r] = c
		p.name = max(p.name, prose.Width(prose.OneLine(r.Name)))
		p.took = max(p.took, len(c.took))
		p.result = max(p.result, prose.Width(c.result))
	}
	p.name = min(p.name, max(8, opts.Width/4))
	for _, column := range []*int{&p.took, &p.result} {
		if p.bar = p.room(); p.bar < leastBar {
			*column = 0
		}
	}
	p.bar = max(1, p.room())
	return p
}

// room returns the columns that are left for bars.
func (p *picture) room() int {
	room := p.Width - p.name - 2
	for _, column := range []int{p.took, p.result} {
		if column > 0 {
			room -= column + 2
		}
	}
	return room
}

// line joins the columns of a row. The bar is drawn already.
func (p *picture) line(name string, named func(string) string, bar, took, result string, paint func(string) string) string {
	name = prose.Shorten(prose.OneLine(name), p.name)
	line := named(name) + strings.Repeat(" ", max(0, p.name-prose.Width(name))) + "  " + bar
	if p.took > 0 {
		line += fmt.Sprintf("  %*s", p.took, took)
	}
	if p.result > 0 && result != "" {
		line += "  " + paint(result)
	}
	return strings.TrimRight(line, " ")
}

// outcome returns the state of a task, or how it ended.
func (p *picture) outcome(r *trace.Row) string {
	text := r.State
	switch {
	case r.State != "dead" && !p.Live:
		text = api.AllocClientStatusLost
	case r.State != "dead" && len(r.Spans) > 0 && r.Spans[len(r.Spans)-1].Open:
		text = r.Spans[len(r.Spans)-1].Kind.String()
	case r.State != "dead":
	case r.ExitCode != nil:
		text = fmt.Sprintf("exit %d", *r.ExitCode)
	case r.Failed:
		text = "failed"
	default:
		text = "not started"
	}
	if p.Width < narrow {
		return text
	}
	if r.Merged > 0 {
		return fmt.Sprintf("%s, %s", text, prose.Count(r.Merged, "allocation"))
	}
	if r.Restarts > 0 {
		return fmt.Sprintf("%s, %s", text, prose.Count(int(r.Restarts), "restart"))
	}
	return text
}

func took(r *trace.Row) string {
	if d, ran := r.Took(); ran {
		return prose.Duration(d)
	}
	return "-"
}

func (p *picture) cut(text string) string {
	return ansi.Truncate(prose.OneLine(text), p.Width, p.more())
}

func (p *picture) more() string {
	if p.ASCII {
		return "..."
	}
	return "…"
}
