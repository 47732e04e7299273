package answer

import (
	"io"
	"strconv"

	"taskrun/cmd/ui"
)

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
