package ui

import (
	"bufio"
	"time"

	"taskrun/jobspec/visible"
)

// Done is an order that was carried out on a task or a job.
type Done struct {
	Job     string `json:"job"`
	Group   string `json:"group,omitempty"`
	Alloc   string `json:"alloc,omitempty"`
	AllocID string `json:"alloc_id,omitempty"`
	Task    string `json:"task,omitempty"` // empty: on the allocation or the job as a whole
	Signal  string `json:"signal,omitempty"`

	Label string `json:"target"` // by which other commands find it
}

// WriteDone writes orders that were carried out to stdout: what was done with
// each label, an object of that kind, or nothing.
func WriteDone(s *Streams, mode Mode, what string, done []Done) error {
	out := bufio.NewWriter(s.Out)
	for _, d := range done {
		switch mode {
		case JSON:
			writeJSON(out, struct {
				jsonHead
				Done
			}{head(what, time.Now()), d})
		case Quiet:
		default:
			line := what + " " + d.Label
			if d.Signal != "" {
				line += " with " + d.Signal
			}
			out.WriteString(visible.String(line) + "\n")
		}
	}
	return out.Flush()
}

// WriteDispatched writes the ID of a job that a parameterized one runs as.
func WriteDispatched(s *Streams, mode Mode, at time.Time, job, child string) error {
	out := bufio.NewWriter(s.Out)
	switch mode {
	case JSON:
		writeJSON(out, struct {
			jsonHead
			Job        string `json:"job"`
			Dispatched string `json:"dispatched_job"`
		}{head("dispatched", at), job, child})
	default:
		out.WriteString(visible.String(child) + "\n")
	}
	return out.Flush()
}
