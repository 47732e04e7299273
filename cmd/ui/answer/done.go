package answer

import (
	"fmt"
	"io"

	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// Done is an order for a task or a job that was carried out.
type Done struct {
	ui.Origin
	Signal string `json:"signal,omitempty"`

	Label string `json:"target"` // name for other commands
}

// WriteDone reports what was done with each label; it is also the type of the
// objects.
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

// WriteDispatched writes the ID of the child of a parameterized job.
func WriteDispatched(to To, job, child string) error {
	id := func(d dispatched) string { return d.Child }
	return write(to, "dispatched", []dispatched{{job, child}}, id, func(out io.Writer) {
		fmt.Fprintln(out, visible.String(child))
	})
}
