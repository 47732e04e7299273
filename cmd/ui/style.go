package ui

import (
	"github.com/fatih/color"

	"taskrun/jobspec/visible"
)

// Style colors words for one stream. It also makes control characters in them
// visible, because names, messages and errors are untrusted. It uses only the
// sixteen colors that a terminal's theme adapts to a light or dark background.
type Style struct {
	// On says whether there are colors.
	On                                      bool
	good, bad, waiting, quiet, strong, note *color.Color
	tasks                                   []*color.Color
}

// TaskColors is the number of colors for tasks.
const TaskColors = len(taskAttributes)

// taskAttributes are the colors of tasks. Green, yellow and red are for states.
var taskAttributes = [...]color.Attribute{
	color.FgCyan, color.FgMagenta, color.FgBlue,
	color.FgHiMagenta, color.FgHiBlue, color.FgHiCyan,
}

// NewStyle returns a style with or without colors.
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

// Good colors success and running tasks.
func (s *Style) Good(text string) string { return s.good.Sprint(visible.Text(text)) }

// Bad colors a failure.
func (s *Style) Bad(text string) string { return s.bad.Sprint(visible.Text(text)) }

// Waiting colors what will be retried, and warnings.
func (s *Style) Waiting(text string) string { return s.waiting.Sprint(visible.Text(text)) }

// Quiet colors unimportant text.
func (s *Style) Quiet(text string) string { return s.quiet.Sprint(visible.Text(text)) }

// Strong colors a heading.
func (s *Style) Strong(text string) string { return s.strong.Sprint(visible.Text(text)) }

// Note colors taskrun's own messages.
func (s *Style) Note(text string) string { return s.note.Sprint(visible.Text(text)) }

// Task colors the label of a task in one of the colors for tasks.
func (s *Style) Task(color int, label string) string { return s.tasks[color].Sprint(label) }

// OutStyle returns the style for stdout.
func (s *Streams) OutStyle(mode ColorMode) *Style { return NewStyle(s.color(mode, s.OutTerm)) }

// ErrStyle returns the style for stderr.
func (s *Streams) ErrStyle(mode ColorMode) *Style { return NewStyle(s.color(mode, s.ErrTerm)) }

// color decides whether a stream has colors, by the first of: the flag,
// NO_COLOR (see https://no-color.org), CLICOLOR_FORCE and FORCE_COLOR,
// CLICOLOR=0 (see https://bixense.com/clicolors), GitHub's log viewer, which is
// not a terminal but shows colors, the terminal and TERM.
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

// Cursor reports whether the terminal understands control sequences.
func (s *Streams) Cursor() bool {
	t := s.Env("TERM")
	return t != "" && t != "dumb"
}
