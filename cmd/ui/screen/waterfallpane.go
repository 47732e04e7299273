package screen

import (
	"cmp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/report/trace"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/waterfall"
)

// waterfallPane shows what the tasks of the run did in the last minutes, as bars.
type waterfallPane struct {
	history *history
	span    int // of spans
}

// spans are the lengths of time that can be shown; 0 is the whole run.
var spans = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 0}

var waterfallBindings = []binding{{keys: "+ -", does: "time", help: "show a shorter or a longer time"}}

// detail says which part of the run is shown, beside the tabs.
func (p *waterfallPane) detail() Line {
	if last := spans[p.span]; last > 0 {
		return LineOf("last "+trace.TickLabel(last), Note)
	}
	return LineOf("the whole run", Note)
}

func (p *waterfallPane) key(k Key) bool {
	switch k {
	case "+":
		p.span = max(0, p.span-1)
	case "-":
		p.span = min(len(spans)-1, p.span+1)
	default:
		return false
	}
	return true
}

func (p *waterfallPane) lines(width, height int) (lines []Line) {
	for _, text := range waterfall.Lines(p.history.traced(), waterfall.Options{
		Width: width, Height: height, Style: ui.NewStyle(true), Zone: p.history.zone, Last: spans[p.span],
	}) {
		lines = append(lines, painted(text))
	}
	return lines
}

// painted returns a line of a picture that has colors, see ui.Style.
func painted(text string) (l Line) {
	var style Style
	var state byte
	for text != "" {
		sequence, width, n, next := ansi.DecodeSequence(text, state, nil)
		switch {
		case width == 0 && strings.HasPrefix(sequence, "\x1b["):
			style = style.with(strings.TrimSuffix(sequence[2:], "m"))
		case len(l) > 0 && l[len(l)-1].Style == style:
			l[len(l)-1].Text += sequence
		default:
			l = append(l, Span{sequence, style})
		}
		text, state = text[n:], next
	}
	return l
}

// painters are the parameters that set a color.
var painters = map[string]Color{"31": Red, "32": Green, "33": Yellow, "36": Cyan}

// with returns the style after the parameters of a control sequence, as far as
// ui.Style has them.
func (s Style) with(parameters string) Style {
	for p := range strings.SplitSeq(parameters, ";") {
		switch p {
		case "", "0":
			s = Plain
		case "1":
			s.Bold = true
		case "2":
			s.Faint = true
		case "22":
			s.Bold, s.Faint = false, false
		default:
			s.Color = cmp.Or(painters[p], s.Color)
		}
	}
	return s
}
