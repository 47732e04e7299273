package view

import (
	"time"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// quiet shows only the tasks' output, and at the end what failed.
//
// A run of one task passes its output on byte by byte, so that it may be used
// in a pipe in the task's place; on a terminal it can do no more than show. With
// several tasks, each line stands behind its task's label.
type quiet struct {
	*printer
}

func newQuiet(c *common) *quiet {
	p := newPrinter(c, nil)
	p.bare = len(p.labels.byTask) == 1
	return &quiet{p}
}

func (v *quiet) begin() {}

func (v *quiet) event(e event.Event) {
	v.printer.event(e)
	if notice, ok := e.Body.(event.Notice); ok {
		ui.WriteLines(v.screen.err(), []string{v.errStyle.Note("▸ " + notice.Text)})
	}
}

func (v *quiet) output(e event.Event, stream event.Stream, piece []byte) {
	if v.bare && !v.terminal {
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
