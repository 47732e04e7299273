package answer

import (
	"fmt"
	"io"

	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// Done is an order that was carried out on a task or a job.
type Done struct {
	ui.Origin
	Signal string `json:"signal,omitempty"`

	Label string `json:"target"` // by which other commands find it
}

// WriteDone writes what was done with each label; objects are of that type.
func WriteDone(to To, what string, done []Done) error {
	return write(to, what, done, nil, func(out io.Writer) {
		for _, d := range done {
			line := what + " " + d.Label
			if d.Signal != "" {
				line += " with " + d.Signal
			}
			fmt.Fprintln(out, visible.String(line))
		}
	})
}

type dispatched struct {
	Job   string `json:"job"`
	Child string `json:"dispatched_job"`
}

// WriteDispatched writes the ID of a job that a parameterized one runs as.
func WriteDispatched(to To, job, child string) error {
	id := func(d dispatched) string { return d.Child }
	return write(to, "dispatched", []dispatched{{job, child}}, id, func(out io.Writer) {
		fmt.Fprintln(out, visible.String(child))
	})
}
