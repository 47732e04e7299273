package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// plain shows a run as lines of text: the tasks' output on stdout, events on
// stderr.
type plain struct {
	*printer
	words     words
	downloads downloads
}

func newPlain(c *common) *plain {
	var times *clock
	if c.Time != ui.TimeNone {
		times = &clock{c.Time, c.Begin, c.streams.Narrow()}
	}
	return &plain{printer: newPrinter(c, times), words: words{c.errStyle, c.run, c.Verbose}}
}

func (v *plain) begin() {
	ui.WriteLines(v.screen.err(), ui.WarningLines(v.errStyle, v.Warnings))
	where := ""
	if v.Address != "" {
		where = " in " + v.Address
	}
	for _, j := range v.Jobs {
		tasks, allocs := 0, 0
		for _, g := range j.TaskGroups {
			tasks += len(g.Tasks)
			allocs += *g.Count
		}
		v.line(v.Begin, "", v.errStyle.Note("▸"), visible.String(fmt.Sprintf("job %s (%s)%s: %s, %s",
			*j.ID, *j.Type, where, ui.Count(tasks, "task"), ui.Count(allocs, "allocation"))))
	}
}

func (v *plain) event(e event.Event) {
	v.downloads.take(e)
	v.printer.event(e)
	if symbol, text := v.words.of(e); symbol != "" {
		label := ""
		if e.Task != "" {
			label = v.label(v.errStyle, e.Alloc.Name, e.Task)
		}
		v.line(e.Time, label, symbol, text)
	}
}

// idle shows the downloads in progress on a terminal.
func (v *plain) idle() {
	v.printer.idle()
	if v.open != nil || !v.streams.ErrTerm || !v.streams.Cursor() {
		return
	}
	at, columns := "", v.streams.Width()
	if v.clock != nil {
		text := v.clock.text(v.downloads.latest())
		at, columns = v.errStyle.Quiet(text)+" ", columns-len(text)-1
	}
	label := func(d download) string { return v.labels.padded(v.labels.of(d.alloc.Name, d.task)) }
	line := v.downloads.line(label, columns)
	if line == "" {
		v.screen.clear()
	} else {
		v.screen.below(at + v.errStyle.Note(line))
	}
}

// line writes a line of taskrun itself. Its parts must be safe for a terminal.
func (v *plain) line(at time.Time, label, symbol, text string) {
	if v.terminal && v.streams.ErrTerm {
		v.breakLine()
	}
	if label == "" {
		label = strings.Repeat(" ", v.labels.width)
	}
	fmt.Fprintln(v.screen.err(), strings.TrimRight(v.time(at)+label+" "+symbol+" "+text, " "))
}

func (v *plain) time(at time.Time) string {
	if v.clock == nil {
		return ""
	}
	return v.errStyle.Quiet(v.clock.text(at)) + " "
}

func (v *plain) said(at time.Time, text string) string {
	return v.time(at) + v.errStyle.Note("▸ "+text) + "\n"
}

func (v *plain) end(r Result) {
	v.close()
	c := newClosing(v.printer, r)
	ui.WriteLines(v.screen.err(), slices.Concat([]string{""}, c.table(), c.untested(), []string{"", c.verdict()}, c.failure()))
}
