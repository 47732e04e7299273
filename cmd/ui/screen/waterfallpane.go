package screen

import (
	"time"

	"taskrun/cmd/report/trace"
	"taskrun/cmd/report/waterfall"
	"taskrun/cmd/ui"
)

// waterfallPane shows what the tasks of the run did in the last minutes, as bars.
type waterfallPane struct {
	history *history
	span    int // of spans
}

// spans are the lengths of time that can be shown; 0 is the whole run.
var spans = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 0}

// waterfallBindings are the keys of the pane.
var waterfallBindings = []binding{{keys: []Key{"+", "-"}, name: "+ -", does: "time", help: "show a shorter or a longer time"}}

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
