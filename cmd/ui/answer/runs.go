package answer

import (
	"io"
	"strconv"
	"time"

	"taskrun/cmd/ui"
)

// Run is a run that is kept, as `runs` lists it.
type Run struct {
	Run        string     `json:"run"` // name for other commands
	Job        string     `json:"job"`
	ID         string     `json:"id"`
	Began      *time.Time `json:"began"`     // nil: unknown
	Ended      *time.Time `json:"ended"`     // nil: it has not, or was killed
	Status     string     `json:"status"`    // running, complete, failed, stopped or lost
	ExitCode   *int       `json:"exit_code"` // nil, like the duration, where there is no end
	DurationMS *int64     `json:"duration_ms"`
	Reason     string     `json:"reason"` // the first one why it failed or was stopped
	Dir        string     `json:"run_dir"`
	Note       string     `json:"note,omitempty"` // what is wrong with its files
}

// WriteRuns writes runs as a table, as objects of type "kept_run", or only their
// IDs.
func WriteRuns(to To, runs []Run) error {
	return write(to, "kept_run", runs, func(r Run) string { return r.Run }, func(out io.Writer) {
		style, width := to.style(), to.Streams.TableWidth()
		narrow := width > 0 && width < 80
		table := ui.NewTable(style, 5, "ID", "JOB", "BEGAN", "OUTCOME", "REASON", "EXIT", "DURATION")
		if narrow {
			table = ui.NewTable(style, 3, "ID", "JOB", "OUTCOME", "EXIT", "TIME")
		}
		for _, r := range runs {
			began, exit, ran, reason := "-", "-", "-", r.Reason
			if r.Began != nil {
				began = ui.Brief(max(0, to.At.Sub(*r.Began))) + " ago"
			}
			if r.ExitCode != nil {
				exit = strconv.Itoa(*r.ExitCode)
			}
			if r.DurationMS != nil {
				ran = ui.Brief(time.Duration(*r.DurationMS) * time.Millisecond)
			}
			if r.Note != "" {
				reason = r.Note
			}
			if reason == "" {
				reason = "-"
			}
			if narrow {
				table.Add(r.paint(style), r.ID, r.Job, r.outcome(), exit, ran)
			} else {
				table.Add(r.paint(style), r.ID, r.Job, began, r.outcome(), reason, exit, ran)
			}
		}
		if narrow {
			ui.WriteLines(out, table.Fit(width, 2).Lines())
			return
		}
		ui.WriteLines(out, table.Fit(width, 5).Lines())
	})
}

// outcome returns the word for how the run ended.
func (r Run) outcome() string {
	switch {
	case r.Status == "lost" && r.Note != "":
		return "unknown"
	case r.Status == "lost":
		return "killed"
	}
	return r.Status
}

func (r Run) paint(style *ui.Style) func(string) string {
	switch r.Status {
	case "complete":
		return style.Quiet
	case "running":
		return style.Good
	case "stopped":
		return style.Waiting
	}
	return style.Bad
}
