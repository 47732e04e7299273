package answer

import (
	"fmt"
	"io"

	"taskrun/cmd/prose"
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

// Copied is the result of a copy to or from a task.
type Copied struct {
	ui.Origin
	From  string `json:"from"`
	To    string `json:"to"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// WriteCopied reports what was copied.
func WriteCopied(to To, c Copied) error {
	return write(to, "copied", []Copied{c}, nil, func(out io.Writer) {
		fmt.Fprintln(out, visible.String(fmt.Sprintf("copied %s to %s: %s, %d bytes", c.From, c.To, prose.Count(c.Files, "file"), c.Bytes)))
	})
}

// Freed says what a cleanup has removed.
type Freed struct {
	Bytes      int64 `json:"freed_bytes"`
	Containers int   `json:"removed_containers"`
	Live       int   `json:"live_jobs"` // not removed, because they are running
}

// WriteFreed writes what was removed.
func WriteFreed(to To, f Freed) error {
	return write(to, "cleaned", []Freed{f}, nil, func(out io.Writer) {
		fmt.Fprintf(out, "freed %.1f MiB", float64(f.Bytes)/(1<<20))
		if f.Containers > 0 {
			fmt.Fprintf(out, " and removed %s", prose.Count(f.Containers, "container"))
		}
		if f.Live > 0 {
			fmt.Fprintf(out, "; left alone: %s", prose.Count(f.Live, "running job"))
		}
		fmt.Fprintln(out)
	})
}
