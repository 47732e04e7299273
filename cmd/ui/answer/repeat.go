package answer

import (
	"fmt"
	"io"
	"strconv"

	"taskrun/cmd/prose"
	"taskrun/cmd/repeat"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/ui"
)

// Repeated is the result of running a job several times.
type Repeated struct {
	*repeat.Tally
	ExitCode   int
	Comparison *Comparison // of a run that passed with the first that failed; nil: there are no two
}

type repeated struct {
	Runs        int               `json:"runs"` // without one that was stopped
	Failed      int               `json:"failed"`
	ExitCode    int               `json:"exit_code"`
	Outcomes    []*repeat.Outcome `json:"outcomes"`
	Durations   []spread          `json:"durations"`
	FailedRun   int               `json:"failed_run,omitempty"` // the first one, which is compared
	PassedRun   int               `json:"passed_run,omitempty"` // with which it is compared
	Differences []difference      `json:"differences"`
}

type spread struct {
	Job        string `json:"job,omitempty"`
	Target     string `json:"target,omitempty"` // empty: the run
	Generation int    `json:"generation"`
	Name       string `json:"name"`
	Runs       int    `json:"runs"`
	MinMS      int64  `json:"min_ms"`
	MedianMS   int64  `json:"median_ms"`
	MaxMS      int64  `json:"max_ms"`
}

// WriteRepeated writes how runs of a job ended, and how long their tasks took.
func WriteRepeated(to To, r Repeated) error {
	item := repeated{Runs: r.Runs, Failed: r.Failures, ExitCode: r.ExitCode, Outcomes: append([]*repeat.Outcome{}, r.Outcomes...), Durations: []spread{}, Differences: []difference{}}
	for _, s := range r.Spreads.List() {
		target := s.Where
		target.Job = ""
		item.Durations = append(item.Durations, spread{
			Job: s.Job, Target: target.Target(), Generation: s.Generation, Name: s.Name, Runs: len(s.Times),
			MinMS: s.Least().Milliseconds(), MedianMS: s.Median().Milliseconds(), MaxMS: s.Most().Milliseconds(),
		})
	}
	if r.Failed != nil {
		item.FailedRun = r.Failed.Number
	}
	if r.Comparison != nil {
		item.PassedRun, item.Differences = r.Passed.Number, objects(r.Comparison.List)
	}
	return write(to, "repeat", []repeated{item}, nil, func(out io.Writer) { writeRepeated(out, to.style(), r) })
}

func writeRepeated(out io.Writer, style *ui.Style, r Repeated) {
	if len(r.Outcomes) == 0 {
		return
	}
	table := ui.NewTable(style, 1, "OUTCOME", "EXIT", "RUNS", "FIRST")
	for _, o := range r.Outcomes {
		paint := style.Quiet
		switch {
		case o.Failed:
			paint = style.Bad
		case o.ExitCode == 0:
			paint = style.Good
		}
		outcome := o.Status
		if o.Reason != "" {
			outcome += ": " + o.Reason
		}
		table.Add(paint, outcome, strconv.Itoa(o.ExitCode), strconv.Itoa(o.Runs), strconv.Itoa(o.First))
	}
	fmt.Fprintln(out)
	ui.WriteLines(out, table.Lines())
	if spreads := r.Spreads.List(); len(spreads) > 0 {
		fmt.Fprintln(out)
		ui.WriteLines(out, spreadTable(style, spreads))
	}
	fmt.Fprintln(out)
	switch {
	case r.Runs == 0:
		fmt.Fprintln(out, style.Quiet("■ no run has ended"))
	case r.Failures == 0:
		fmt.Fprintln(out, style.Good("✓ "+prose.Count(r.Runs, "run")+", none failed"))
	default:
		fmt.Fprintln(out, style.Bad(fmt.Sprintf("✗ %d of %s failed", r.Failures, prose.Count(r.Runs, "run"))))
	}
	if r.Comparison != nil {
		fmt.Fprintf(out, "\nHow run %d, which passed, and run %d, the first that failed, differ:\n\n", r.Passed.Number, r.Failed.Number)
		writeComparison(out, style, *r.Comparison)
	}
}

// spreadTable returns how long passing runs and their tasks took.
func spreadTable(style *ui.Style, spreads []compare.Spread) []string {
	const rows = 60
	table := ui.NewTable(style, 1, "PASSING RUNS", "MIN", "MEDIAN", "MAX")
	for _, s := range spreads[:min(len(spreads), rows)] {
		table.Add(style.Plain, heading(s.Where), prose.Duration(s.Least()), prose.Duration(s.Median()), prose.Duration(s.Most()))
	}
	lines := table.Lines()
	if more := len(spreads) - rows; more > 0 {
		lines = append(lines, style.Quiet("and "+prose.Count(more, "task")))
	}
	return lines
}
