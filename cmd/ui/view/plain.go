package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// plain shows a run as lines of text: the tasks' output on stdout, events on
// stderr.
type plain struct {
	*printer
	words     words
	tally     tally
	counts    time.Time // when the steps counted so far are shown; zero: none are
	downloads downloads
	status    *status // nil: there is no terminal for it
}

func newPlain(c *common) *plain {
	var times *clock
	if c.Time != ui.TimeNone {
		times = &clock{c.Time, c.Begin, c.streams.Narrow()}
	}
	v := &plain{printer: newPrinter(c, times), words: words{c.errStyle, c.run, c.Verbose}}
	if c.screen.on() && !c.Bare && !c.Virtual {
		v.status = &status{run: c.run, style: c.errStyle, begin: c.Begin, shown: time.Now().Add(statusDelay)}
	}
	return v
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
			*j.ID, *j.Type, where, prose.Count(tasks, "task"), prose.Count(allocs, "allocation"))))
	}
}

func (v *plain) event(e event.Event) {
	if ended := v.tally.pass(e.Time); len(ended) > 0 {
		v.showCounts(ended)
	}
	if !v.hides(e) {
		v.downloads.take(e)
	}
	v.printer.event(e)
	if v.status != nil {
		v.status.changed = true
	}
	p := v.words.of(e)
	if p.symbol == "" || p.step != "" && (v.hides(e) || v.counted(e, p.step)) {
		return
	}
	label := ""
	if e.Task != "" {
		label = v.label(v.errStyle, e.Alloc, e.Task)
	}
	v.line(e.Time, label, p.symbol, p.text)
}

// counted reports whether a step of a task or an allocation is only counted.
func (v *plain) counted(e event.Event, step string) bool {
	if v.Verbose || !v.large() {
		return false
	}
	k := kind{step, "allocation"}
	if e.Task != "" {
		k.noun = "task"
	}
	own := v.tally.take(e.Time, k)
	if !own && v.counts.IsZero() {
		v.counts = time.Now().Add(tallyTime)
	}
	return !own
}

func (v *plain) large() bool {
	return len(v.labels.byTask) > manyTasks || len(v.run.Allocs) > manyTasks
}

// showCounts shows how many steps had no line of their own.
func (v *plain) showCounts(counts []*count) {
	v.counts = time.Time{}
	for _, c := range counts {
		v.line(c.at, "", c.text(), "")
	}
}

// idle shows the downloads in progress on a terminal or, without any, the status of a
// run with several tasks. An unfinished line of output on the terminal stays the last
// one.
func (v *plain) idle() (again time.Time) {
	now := time.Now()
	if !v.counts.IsZero() && !now.Before(v.counts) {
		v.showCounts(v.tally.end())
	}
	_ = v.printer.idle()
	if v.open != nil && v.terminal || !v.screen.on() {
		return v.counts
	}
	line := v.download()
	if line == "" && v.status != nil && (v.several() || v.run.Unfixed.Unfixed != "") {
		line, again = v.status.line(now, v.streams.Width)
	}
	if line == "" {
		v.screen.clear()
	} else {
		v.screen.below(line)
	}
	return sooner(again, v.counts)
}

// sooner returns the earlier one of two times that are not zero.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (v *plain) several() bool { return len(v.labels.byTask) > 1 || len(v.run.Allocs) > 1 }

func (v *plain) download() string {
	if len(v.downloads) == 0 {
		return ""
	}
	at, columns := "", v.streams.Width()
	if v.clock != nil {
		text := v.clock.text(v.downloads.latest())
		at, columns = v.errStyle.Quiet(text)+" ", columns-len(text)-1
	}
	label := func(d download) string { return v.labels.padded(v.labels.before(d.alloc, d.task)) }
	line := v.downloads.line(label, columns)
	if line == "" {
		return ""
	}
	return at + v.errStyle.Note(line)
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
	v.showCounts(v.tally.end())
	v.close()
	c := newClosing(v.printer, r)
	ui.WriteLines(v.screen.err(), slices.Concat([]string{""}, c.table(), c.untested(), []string{"", c.verdict()}, c.failure()))
}
