package view

import (
	"time"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// quiet shows only the tasks' output, and failures at the end.
//
// The output of a single task is copied unchanged, so that the run can replace
// the task in a pipeline; on a terminal it is made safe. With several tasks,
// each line is preceded by its task's label.
type quiet struct {
	*printer
	single bool // one task is shown
}

func newQuiet(c *common) *quiet {
	p := newPrinter(c, nil)
	single := p.labels.shown == 1
	p.bare = p.bare || single && c.Prefix == ui.PrefixAuto
	return &quiet{p, single}
}

func (v *quiet) begin() {}

func (v *quiet) event(e event.Event) {
	v.printer.event(e)
	if notice, ok := e.Body.(event.Notice); ok {
		ui.WriteLines(v.screen.err(), []string{v.errStyle.Note("▸ " + notice.Text)})
	}
}

func (v *quiet) output(e event.Event, stream event.Stream, piece []byte) {
	if v.single && v.bare && !v.terminal {
		_, _ = v.screen.out().Write(piece)
		return
	}
	v.printer.output(e, stream, piece)
}

func (v *quiet) said(_ time.Time, text string) string { return v.errStyle.Note("▸ "+text) + "\n" }

func (v *quiet) end(r Result) {
	v.close()
	if r.ExitCode == 0 {
		return
	}
	c := newClosing(v.printer, r)
	ui.WriteLines(v.screen.err(), append([]string{c.verdict()}, c.failure()...))
}
