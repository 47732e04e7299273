package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// plain shows a run as lines for people: the tasks' output on stdout, what
// happens to them on stderr.
type plain struct {
	*printer
	d        *Display
	opts     Options
	errStyle *Style

	downloads downloads
}

func newPlain(d *Display, opts Options) *plain {
	c := &clock{opts.Time, opts.Begin, d.streams.narrow()}
	if opts.Time == TimeNone {
		c = nil
	}
	return &plain{
		printer:  newPrinter(d, opts, c),
		d:        d,
		opts:     opts,
		errStyle: d.streams.ErrStyle(opts.Colour),
	}
}

func (v *plain) begin() {
	writeLines(v.screen.err(), warningLines(v.errStyle, v.opts.Warnings))
	where := ""
	if v.opts.Address != "" {
		where = " in " + v.opts.Address
	}
	for _, j := range v.opts.Jobs {
		tasks, allocs := 0, 0
		for _, g := range j.TaskGroups {
			tasks += len(g.Tasks)
			allocs += *g.Count
		}
		v.line(v.opts.Begin, "", v.errStyle.Note("▸"), visible.String(fmt.Sprintf("job %s (%s)%s: %s, %s",
			*j.ID, *j.Type, where, plural(tasks, "task"), plural(allocs, "allocation"))))
	}
}

// WriteWarnings tells of what was found in jobs that are not shown.
func WriteWarnings(s *Streams, mode Mode, colour ColourMode, warnings []Diagnostic) error {
	switch mode {
	case JSON:
		for _, d := range warnings {
			if err := WriteDiagnostic(s.Out, time.Now(), d); err != nil {
				return err
			}
		}
	case Plain:
		writeLines(s.Err, warningLines(s.ErrStyle(colour), warnings))
	case Quiet:
	}
	return nil
}

func warningLines(style *Style, warnings []Diagnostic) (lines []string) {
	for _, d := range warnings {
		lines = append(lines, style.Waiting(d.Severity+":")+" "+d.line())
	}
	return lines
}

// line returns a diagnostic without its severity in one line.
func (d Diagnostic) line() string {
	text := d.Summary
	if d.Detail != "" {
		text += "; " + d.Detail
	}
	if d.File != "" {
		text = fmt.Sprintf("%s:%d: %s", d.File, d.Line, text)
	}
	return oneLine(text)
}

func (v *plain) event(e event.Event) {
	v.downloads.take(e)
	s, alloc := v.errStyle, ""
	if e.Alloc != nil {
		alloc = visible.String(e.Alloc.Name)
	}
	switch body := e.Body.(type) {
	case event.TaskEvent:
		if body.Type == api.TaskTerminated {
			v.ended(e.Alloc.ID, e.Task)
		}
		symbol, text := v.taskEvent(v.d.run.Task(e), body)
		v.line(e.Time, v.taskLabel(e), symbol, text)
	case event.TaskState:
		if body.State == "dead" {
			v.ended(e.Alloc.ID, e.Task)
		}
		v.line(e.Time, v.taskLabel(e), v.taskState(v.d.run.Task(e)), "")
	case event.AllocStatus:
		if symbol, text := v.allocStatus(e, body); text != "" {
			v.line(e.Time, "", symbol, text)
		}
	case event.AllocHealth:
		if body.Healthy {
			v.line(e.Time, "", s.Good("✓"), alloc+" is healthy")
		} else {
			v.line(e.Time, "", s.Bad("✗"), s.Bad(alloc+" is not healthy"))
		}
	case event.Deployment:
		job, description := visible.String(body.Job), visible.String(body.Description)
		switch body.Status {
		case health.DeploymentSuccessful:
			v.line(e.Time, "", s.Good("✓"), fmt.Sprintf("job %s: %s", job, description))
		case health.DeploymentFailed:
			v.line(e.Time, "", s.Bad("✗"), s.Bad(fmt.Sprintf("job %s: the deployment has failed: %s", job, description)))
		case health.DeploymentCancelled:
		default:
			if body.Description != "Deployment is running" {
				v.line(e.Time, "", s.Waiting("○"), s.Waiting(fmt.Sprintf("job %s: %s", job, description)))
			}
		}
	case event.Service:
		if symbol, text := v.service(body); text != "" {
			v.line(e.Time, "", symbol, alloc+": "+text)
		}
	case event.Check:
		if symbol, text := v.check(body); text != "" {
			v.line(e.Time, "", symbol, alloc+": "+text)
		}
	case event.Gap:
		v.line(e.Time, v.taskLabel(e), s.Waiting("▲"),
			fmt.Sprintf("%d bytes of %s are left out here: the reader was too slow", body.Bytes, body.Stream))
	case event.Notice:
		label := ""
		if e.Task != "" {
			label = v.taskLabel(e)
		}
		v.line(e.Time, label, s.Note("▸"), s.Plain(body.Text))
	}
}

// idle shows on a terminal what is under way.
func (v *plain) idle() {
	v.printer.idle()
	if v.open != nil || !v.d.streams.ErrTerm || !v.d.streams.cursor() {
		return
	}
	at, columns := "", v.d.streams.Width()
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

func (v *plain) taskLabel(e event.Event) string { return v.label(v.errStyle, e.Alloc.Name, e.Task) }

// taskEvent returns the symbol and text of a task event.
func (v *plain) taskEvent(t *fold.Task, e event.TaskEvent) (symbol, text string) {
	s := v.errStyle
	text = visible.String(e.Type)
	if e.DisplayMessage != "" {
		text += ": " + e.DisplayMessage
	}
	switch {
	case event.Fails(e.TaskEvent), troubles[e.Type],
		e.Type == api.TaskTerminated && !cleanExit(e.TaskEvent) && !t.Stopping():
		return s.Bad("!"), s.Bad(text)
	case e.Type == api.TaskRestarting:
		return s.Waiting("↻"), s.Waiting(text)
	case e.Type == api.TaskSiblingFailed:
		return s.Waiting("!"), s.Waiting(text)
	}
	return s.Quiet("·"), s.Quiet(text)
}

// troubles are the task events that tell of something wrong, whether or not it
// fails the task.
var troubles = map[string]bool{
	api.TaskSetupFailure:           true,
	api.TaskFailedValidation:       true,
	api.TaskDriverFailure:          true,
	api.TaskArtifactDownloadFailed: true,
	event.TaskHookFailed:           true,
}

func cleanExit(e *api.TaskEvent) bool {
	return e.Details["exit_code"] == "0" && e.Details["signal"] == "0"
}

// taskState returns a state in its colour.
func (v *plain) taskState(t *fold.Task) string {
	s := v.errStyle
	text := visible.String(t.State)
	switch {
	case t.State == "running":
		return s.Good("● " + text)
	case t.State == "pending":
		return s.Waiting("○ " + text)
	case t.ExitCode != nil:
		text += fmt.Sprintf(", exit code %d", *t.ExitCode)
	case t.Started.IsZero():
		text += ", never started"
	}
	switch {
	case t.Failed:
		return s.Bad("✗ " + text + ", failed")
	case t.ExitCode != nil && *t.ExitCode == 0:
		return s.Good("✓ " + text)
	}
	return s.Quiet("■ " + text)
}

// allocStatus returns the symbol and text of what an allocation became. That
// it waits or runs is seen by its tasks.
func (v *plain) allocStatus(e event.Event, a event.AllocStatus) (symbol, text string) {
	s, name := v.errStyle, visible.String(e.Alloc.Name)
	switch a.Status {
	case api.AllocClientStatusComplete:
		return s.Good("✓"), s.Good(fmt.Sprintf("%s complete: %s", name, a.Description))
	case api.AllocClientStatusFailed:
		text = fmt.Sprintf("%s failed: %s", name, a.Description)
		if a.Retry >= 0 {
			text += fmt.Sprintf("; it is replaced in %v", a.Retry)
		}
		return s.Bad("✗"), s.Bad(text)
	case api.AllocClientStatusPending:
		switch now := v.d.run.Alloc(e.Alloc); {
		case now.Replaces == nil || slices.ContainsFunc(now.Tasks, func(t *fold.Task) bool { return len(t.Events) > 0 }):
		case now.Replaces.Status == api.AllocClientStatusFailed:
			return s.Waiting("↻"), s.Waiting(name + " runs again, in place of the failed one")
		default:
			return s.Waiting("↻"), s.Waiting(name + " runs in place of the one before")
		}
	case api.AllocClientStatusLost:
		return s.Bad("✗"), s.Bad(fmt.Sprintf("%s is lost: %s", name, a.Description))
	case api.AllocClientStatusUnknown:
		return s.Waiting("?"), s.Waiting(fmt.Sprintf("%s is out of reach: %s", name, a.Description))
	}
	return "", ""
}

// line writes a line of taskrun's own, of parts that are visible.
func (v *plain) line(at time.Time, label, symbol, text string) {
	if v.terminal && v.d.streams.ErrTerm {
		v.breakLine()
	}
	if label == "" {
		label = strings.Repeat(" ", v.labels.width)
	}
	w := v.screen.err()
	if v.clock != nil {
		w.WriteString(v.errStyle.Quiet(v.clock.text(at)) + " ")
	}
	fmt.Fprintln(w, strings.TrimRight(label+" "+symbol+" "+text, " "))
}

func (v *plain) said(at time.Time, text string) string {
	time := ""
	if v.clock != nil {
		time = v.errStyle.Quiet(v.clock.text(at)) + " "
	}
	return time + v.errStyle.Note("▸ "+text) + "\n"
}

func (v *plain) end(r Result) {
	v.close()
	c := newClosing(v.d, v.printer.labels, v.opts, r)
	lines := slices.Concat([]string{""}, c.table(), []string{"", c.verdict()}, c.failure())
	writeLines(v.screen.err(), lines)
}

func writeLines(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
