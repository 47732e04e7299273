package answer

import (
	"cmp"
	"io"
	"strconv"
	"time"

	"taskrun/cmd/prose"
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
	Note       string     `json:"note,omitempty"` // errors of its files
}

// WriteRuns writes runs as a table, as objects of type "kept_run", or only their
// IDs.
func WriteRuns(to To, runs []Run) error {
	return write(to, "kept_run", runs, func(r Run) string { return r.Run }, func(out io.Writer) {
		style, width := to.style(), to.Streams.TableWidth()
		narrow := width > 0 && width < 80
		table, columns := ui.NewTable(style, 5, "ID", "JOB", "BEGAN", "OUTCOME", "REASON", "EXIT", "DURATION"), 5
		if narrow {
			table, columns = ui.NewTable(style, 3, "ID", "JOB", "OUTCOME", "EXIT", "TIME"), 2
		}
		for _, r := range runs {
			began, exit, ran, reason := "-", "-", "-", cmp.Or(r.Note, r.Reason, "-")
			if r.Began != nil {
				began = prose.Brief(max(0, to.At.Sub(*r.Began))) + " ago"
			}
			if r.ExitCode != nil {
				exit = strconv.Itoa(*r.ExitCode)
			}
			if r.DurationMS != nil {
				ran = prose.Brief(time.Duration(*r.DurationMS) * time.Millisecond)
			}
			if narrow {
				table.Add(r.paint(style), r.ID, r.Job, r.outcome(), exit, ran)
			} else {
				table.Add(r.paint(style), r.ID, r.Job, began, r.outcome(), reason, exit, ran)
			}
		}
		ui.WriteLines(out, table.Fit(width, columns).Lines())
	})
}

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

// Orphan is a process that was left behind when its run was killed.
type Orphan struct {
	Job     string `json:"job"` // "a, b" when the run had several
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// WriteOrphans writes such processes; in quiet mode, only their PIDs.
func WriteOrphans(to To, orphans []Orphan) error {
	pid := func(o Orphan) string { return strconv.Itoa(o.PID) }
	return write(to, "orphan", orphans, pid, func(out io.Writer) {
		if len(orphans) == 0 {
			return
		}
		style := to.style()
		table := ui.NewTable(style, 3, "JOB", "PID", "COMMAND")
		for _, o := range orphans {
			table.Add(style.Bad, o.Job, strconv.Itoa(o.PID), o.Command)
		}
		ui.WriteLines(out, table.Lines())
	})
}
