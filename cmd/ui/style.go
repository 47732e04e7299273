package ui

import (
	"hash/fnv"

	"github.com/fatih/color"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/visible"
)

// Style paints words for one stream, and is the way of all words of taskrun's
// own to a terminal: they are made visible, since names, messages and errors in
// them are other people's. Every colour is one of the sixteen that a terminal's theme adapts to a
// light or dark background.
type Style struct {
	on                                      bool
	good, bad, waiting, quiet, strong, note *color.Color
	tasks                                   []*color.Color
}

// taskAttributes are the colours of tasks. Green, yellow and red tell states.
var taskAttributes = [...]color.Attribute{
	color.FgCyan, color.FgMagenta, color.FgBlue,
	color.FgHiMagenta, color.FgHiBlue, color.FgHiCyan,
}

func newStyle(on bool) *Style {
	s := &Style{on: on}
	paint := func(attrs ...color.Attribute) *color.Color {
		c := color.New(attrs...)
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	s.good, s.bad, s.waiting = paint(color.FgGreen), paint(color.FgRed, color.Bold), paint(color.FgYellow)
	s.quiet, s.strong, s.note = paint(color.Faint), paint(color.Bold), paint(color.FgCyan)
	for _, attr := range taskAttributes {
		s.tasks = append(s.tasks, paint(attr))
	}
	return s
}

// Plain leaves words in the colour of the stream.
func (s *Style) Plain(text string) string { return visible.Text(text) }

// Good paints what went well or runs.
func (s *Style) Good(text string) string { return s.good.Sprint(visible.Text(text)) }

// Bad paints a failure.
func (s *Style) Bad(text string) string { return s.bad.Sprint(visible.Text(text)) }

// Waiting paints what will be tried again, and warnings.
func (s *Style) Waiting(text string) string { return s.waiting.Sprint(visible.Text(text)) }

// Quiet paints what need not be read.
func (s *Style) Quiet(text string) string { return s.quiet.Sprint(visible.Text(text)) }

// Strong paints a heading.
func (s *Style) Strong(text string) string { return s.strong.Sprint(visible.Text(text)) }

// Note paints words of taskrun's own.
func (s *Style) Note(text string) string { return s.note.Sprint(visible.Text(text)) }

// taskColours gives each task name a colour: that of its hash, or the next one
// that fewer names have. The same jobs always get the same colours.
func taskColours(jobs []*api.Job) map[string]int {
	colours := make(colours)
	each(jobs, func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { colours.give(t.Name) })
	return colours
}

// colours are those of task names, as indexes of Style.tasks.
type colours map[string]int

func (c colours) give(name string) {
	if _, ok := c[name]; ok {
		return
	}
	taken := make([]int, len(taskAttributes))
	for _, at := range c {
		taken[at]++
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	at := int(h.Sum32() % uint32(len(taken)))
	for taken[at] > len(c)/len(taken) {
		at = (at + 1) % len(taken)
	}
	c[name] = at
}
