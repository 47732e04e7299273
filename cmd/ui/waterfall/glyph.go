package waterfall

import (
	"taskrun/cmd/report/trace"
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

var ofKind = map[trace.Kind]glyph{
	trace.Waiting: waiting, trace.Setup: setup, trace.Running: running, trace.Restarting: restarting, trace.Stopping: stopping,
}

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
