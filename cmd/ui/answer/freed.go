package answer

import (
	"fmt"
	"io"

	"taskrun/cmd/ui"
)

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
			fmt.Fprintf(out, " and removed %s", ui.Count(f.Containers, "container"))
		}
		if f.Live > 0 {
			fmt.Fprintf(out, "; left alone: %s that runs", ui.Count(f.Live, "job"))
		}
		fmt.Fprintln(out)
	})
}
