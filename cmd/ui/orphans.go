package ui

import (
	"bufio"
	"fmt"
	"strconv"
	"time"
)

// Orphan is a process that was left behind when its run was killed.
type Orphan struct {
	Job     string `json:"job"` // "a, b" when the run had several
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// WriteOrphans shows such processes: as a table, as objects of type "orphan",
// or as numbers alone. It returns an error when stdout cannot be written.
func WriteOrphans(s *Streams, mode Mode, colour ColourMode, now time.Time, orphans []Orphan) error {
	out := bufio.NewWriter(s.Out)
	rows := []row{{[]string{"JOB", "PID", "COMMAND"}, s.OutStyle(colour).Strong}}
	for _, o := range orphans {
		switch mode {
		case JSON:
			writeJSON(out, struct {
				jsonHead
				Orphan
			}{head("orphan", now), o})
		case Quiet:
			fmt.Fprintln(out, o.PID)
		default:
			rows = append(rows, row{[]string{o.Job, strconv.Itoa(o.PID), o.Command}, s.OutStyle(colour).Bad})
		}
	}
	if len(rows) > 1 {
		writeLines(out, align(rows, 3))
	}
	return out.Flush()
}
