package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
)

// maxRows is how many tasks the closing table lists; of more, those that ended
// well are only counted.
const maxRows = 60

// closing is what is shown when a run has ended.
type closing struct {
	run    *fold.Run
	tails  tails
	labels *labels
	style  *Style
	width  int
	begin  time.Time
	narrow bool
	result Result
}

// widthOfLogs is how wide lines may get where there is no terminal.
const widthOfLogs = 240

func newClosing(d *Display, l *labels, opts Options, r Result) *closing {
	c := &closing{d.run, d.tails, l, d.streams.ErrStyle(opts.Colour), widthOfLogs, opts.Begin, d.streams.narrow(), r}
	if d.streams.ErrTerm {
		c.width = d.streams.Width()
	}
	return c
}

// table returns the closing table: task, state, exit code, restarts, duration,
// and how often its allocation was replaced if any was.
func (c *closing) table() []string {
	head := row{[]string{"TASK", "STATE", "EXIT", "RESTARTS", "DURATION"}, c.style.Strong}
	if c.narrow {
		head.cells[3], head.cells[4] = "RST", "TIME"
	}
	var tasks []*fold.Task
	final := c.run.Final()
	for _, a := range final {
		tasks = append(tasks, a.Tasks...)
	}
	replaced := slices.ContainsFunc(final, func(a *fold.Alloc) bool { return a.Replacements() > 0 })
	if replaced {
		head.cells = append(head.cells, "REPLACED")
	}
	rows, left := []row{head}, 0
	for _, t := range tasks {
		if len(tasks) > maxRows && t.State == "dead" && !t.Failed {
			left++
			continue
		}
		r := c.row(t)
		if replaced {
			r.cells = append(r.cells, strconv.Itoa(t.Alloc.Replacements()))
		}
		rows = append(rows, r)
	}
	lines := align(rows, 2)
	if left > 0 {
		lines = append(lines, c.style.Quiet(fmt.Sprintf("and %s that ended well", plural(left, "task"))))
	}
	return lines
}

func (c *closing) row(t *fold.Task) row {
	r := row{paint: c.style.Quiet}
	state, exit, took := t.State, "-", "-"
	switch {
	case t.Failed:
		r.paint = c.style.Bad
		state += ", failed"
	case t.State == "dead" && t.ExitCode != nil && *t.ExitCode == 0:
		r.paint = c.style.Good
	}
	if t.ExitCode != nil {
		exit = strconv.Itoa(*t.ExitCode)
	}
	if !t.Started.IsZero() {
		took = short(t.Took(c.run.Latest))
	}
	r.cells = []string{c.labels.of(t.Alloc.Name, t.Name), state, exit, strconv.FormatUint(t.Restarts, 10), took}
	return r
}

// verdict says in one line how the run ended.
func (c *closing) verdict() string {
	jobs := make([]string, len(c.run.Jobs))
	for i, j := range c.run.Jobs {
		jobs[i] = visible.String(*j.ID)
	}
	text := plural(len(jobs), "job")
	if len(jobs) < 4 {
		text = strings.TrimSuffix("job "+strings.Join(jobs, ", "), " ")
	}
	took := "after " + short(c.result.Time.Sub(c.begin))
	code := fmt.Sprintf("exit code %d", c.result.ExitCode)
	switch {
	case c.result.Cause != "":
		text = fmt.Sprintf("%s stopped %s: %s", text, took, c.result.Cause)
	case c.result.ExitCode == 0:
		return c.style.Good(fmt.Sprintf("✓ %s complete %s", text, took))
	case c.run.FirstFailure() != nil:
		text = fmt.Sprintf("%s failed %s", text, took)
	default:
		text = fmt.Sprintf("%s ended %s", text, took)
	}
	if c.result.ExitCode == 0 {
		return c.style.Good("✓ " + text)
	}
	return c.style.Bad("✗ " + text + ", " + code)
}

// short returns a duration as a person would write it.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}
