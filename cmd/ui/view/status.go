package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
)

// The status of a run appears after statusDelay, so that short runs have none, and
// follows its events with at most statusRate.
const (
	statusDelay = time.Second
	statusRate  = 100 * time.Millisecond
)

// status is the line at the bottom of a terminal that sums up a run.
type status struct {
	run   *fold.Run
	style *ui.Style
	begin time.Time // of the run
	shown time.Time // from when on it is shown

	text    string
	at      time.Time // when that was made
	changed bool      // there were events since
}

// line returns the status at a time, and when it should be asked for again.
func (s *status) line(now time.Time, columns func() int) (text string, again time.Time) {
	if now.Before(s.shown) {
		return "", s.shown
	}
	since := now.Sub(s.begin)
	next := now.Add(time.Second - since%time.Second) // the seconds change
	if soon := s.at.Add(statusRate); now.Before(soon) {
		if s.changed {
			next = soon
		}
		return s.text, next
	}
	s.text = statusText(s.style, s.run.Counts(), since, columns())
	if wrong := s.run.Unfixed.Unfixed; wrong != "" {
		s.text = ansi.Truncate(s.style.Bad(visible.String(wrong))+"  "+s.text, max(columns()-1, 0), "…")
	}
	s.at, s.changed = now, false
	return s.text, next
}

// statusText returns the status in less than the given columns.
func statusText(style *ui.Style, c fold.Counts, since time.Duration, columns int) string {
	parts := []struct {
		word, mark string
		n          int
		paint      func(string) string
	}{
		{"running", "●", c.Running, style.Good},
		{"starting", "○", c.Starting, style.Waiting},
		{"ended", "■", c.Ended, style.Plain},
		{"failed", "✗", c.Failed, style.Bad},
	}
	var long, short []string
	for i, p := range parts {
		if p.n > 0 || i == 0 {
			long = append(long, p.paint(fmt.Sprintf("%s %d", p.word, p.n)))
			short = append(short, p.paint(fmt.Sprintf("%s%d", p.mark, p.n)))
		}
	}
	elapsed := style.Quiet(prose.Brief(since))
	for _, text := range []string{
		style.Note("▸ ") + strings.Join(append(long, elapsed), ", "),
		strings.Join(append(short, elapsed), " "),
	} {
		if ansi.StringWidth(text) < columns {
			return text
		}
	}
	return ansi.Truncate(strings.Join(append(short, elapsed), " "), columns-1, "")
}
