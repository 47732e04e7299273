package waterfall

import (
	"strings"

	"taskrun/cmd/report/trace"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
)

// glyph is something that a picture shows in one column.
type glyph uint8

// The glyphs, of bars and of marks. Of marks in one column the last of this list shows.
const (
	blank glyph = iota
	waiting
	setup
	running
	restarting
	stopping
	merged
	evented
	registered
	offered
	deployed
	passed
	healthy
	failedCheck
	failed
	glyphCount
)

// glyphs are the characters of glyphs. They differ without color.
type glyphs [glyphCount]string

var (
	unicodeGlyphs = glyphs{" ", "·", "░", "█", "╌", "▒", "▚", "•", "▼", "▲", "◇", "✓", "♦", "!", "✗"}
	asciiGlyphs   = glyphs{" ", ".", ":", "#", "~", "%", "=", "o", "v", "^", "D", "+", "H", "!", "X"}
)

var meanings = [glyphCount]string{
	"", "waiting", "setup", "running", "restarting", "stopping", "several attempts", "event", "new version", "service", "deployment",
	"check passes", "healthy", "check fails", "failure",
}

// ofKind are the glyphs of the kinds of spans.
var ofKind = map[trace.Kind]glyph{
	trace.Waiting: waiting, trace.Setup: setup, trace.Running: running, trace.Restarting: restarting, trace.Stopping: stopping,
}

// ofSpan returns the glyph of a span.
func ofSpan(s trace.Span) glyph {
	if s.Count > 1 {
		return merged
	}
	return ofKind[s.Kind]
}

// ofMark returns the glyph of a mark; blank for one that the bars show.
func ofMark(m trace.Mark) glyph {
	switch m.Kind {
	case trace.Check:
		if m.Weight == fold.Trouble {
			return failedCheck
		}
		if m.Good {
			return passed
		}
		return blank
	case trace.Deployment:
		if m.Weight == fold.Trouble {
			return failed
		}
		return deployed
	case trace.Evaluation:
		return blank
	case trace.Registration:
		return registered
	case trace.Service:
		return offered
	case trace.TaskEvent, trace.AllocStatus, trace.Health, trace.Notice:
	}
	switch {
	case m.Weight == fold.Trouble:
		return failed
	case m.Kind == trace.Health:
		return healthy
	case m.Kind == trace.AllocStatus, m.Routine:
		return blank
	}
	return evented
}

// paint colors a glyph.
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

// legend explains the glyphs that were drawn.
func (p *picture) legend() (lines []string) {
	line, width := "", 0
	for g := waiting; g < glyphCount; g++ {
		if !p.seen[g] {
			continue
		}
		text := p.glyphs[g] + " " + meanings[g]
		if width > 0 && width+2+ui.Width(text) > p.Width {
			lines, line, width = append(lines, line), "", 0
		}
		if width > 0 {
			line += "  "
			width += 2
		}
		line += p.paint(g)(p.glyphs[g]) + " " + p.Style.Quiet(meanings[g])
		width += ui.Width(text)
	}
	if strings.TrimSpace(line) != "" {
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}
