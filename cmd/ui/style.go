package ui

import (
	"github.com/fatih/color"

	"taskrun/jobspec/visible"
)

// Style paints words for one stream. It makes them visible, since names, messages
// and errors in them are other people's. Every color is one of the sixteen that a
// terminal's theme adapts to a light or dark background.
type Style struct {
	// On tells whether there are colors at all.
	On                                      bool
	good, bad, waiting, quiet, strong, note *color.Color
	tasks                                   []*color.Color
}

// TaskColors is how many colors there are for tasks.
const TaskColors = len(taskAttributes)

// taskAttributes are the colors of tasks. Green, yellow and red tell states.
var taskAttributes = [...]color.Attribute{
	color.FgCyan, color.FgMagenta, color.FgBlue,
	color.FgHiMagenta, color.FgHiBlue, color.FgHiCyan,
}

// NewStyle returns a style with colors or without.
func NewStyle(on bool) *Style {
	s := &Style{On: on}
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

// Plain leaves words in the color of the stream.
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

// Task paints a label of a task in one of the colors for tasks.
func (s *Style) Task(color int, label string) string { return s.tasks[color].Sprint(label) }

// OutStyle returns the style for stdout.
func (s *Streams) OutStyle(mode ColorMode) *Style { return NewStyle(s.color(mode, s.OutTerm)) }

// ErrStyle returns the style for stderr.
func (s *Streams) ErrStyle(mode ColorMode) *Style { return NewStyle(s.color(mode, s.ErrTerm)) }

// color decides whether a stream gets colors: the flag, then NO_COLOR (see
// https://no-color.org), CLICOLOR_FORCE and FORCE_COLOR, CLICOLOR=0 (see
// https://bixense.com/clicolors), GitHub's log viewer, which is no terminal
// but shows colors, and at last the terminal and TERM.
func (s *Streams) color(mode ColorMode, terminal bool) bool {
	forced := func(name string) bool { v := s.Env(name); return v != "" && v != "0" && v != "false" }
	switch {
	case mode == ColorAlways:
		return true
	case mode == ColorNever, s.Env("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE"), forced("FORCE_COLOR"):
		return true
	case s.Env("CLICOLOR") == "0":
		return false
	case s.Env("GITHUB_ACTIONS") == "true":
		return true
	}
	return terminal && s.Cursor()
}

// Cursor reports whether the terminal understands more than letters.
func (s *Streams) Cursor() bool {
	t := s.Env("TERM")
	return t != "" && t != "dumb"
}
