package ui

import (
	"fmt"
	"strings"
	"time"
)

// Freed is what a cleaning has removed.
type Freed struct {
	Bytes      int64 `json:"freed_bytes"`
	Containers int   `json:"removed_containers"`
	Live       int   `json:"live_jobs"` // left alone because they run
}

// WriteFreed tells what was removed.
func WriteFreed(s *Streams, mode Mode, at time.Time, f Freed) error {
	var out strings.Builder
	switch mode {
	case JSON:
		writeJSON(&out, struct {
			jsonHead
			Freed
		}{head("cleaned", at), f})
	case Quiet:
	default:
		fmt.Fprintf(&out, "freed %.1f MiB", float64(f.Bytes)/(1<<20))
		if f.Containers > 0 {
			fmt.Fprintf(&out, " and removed %s", plural(f.Containers, "container"))
		}
		if f.Live > 0 {
			fmt.Fprintf(&out, "; left alone: %s that runs", plural(f.Live, "job"))
		}
		out.WriteString("\n")
	}
	_, err := s.Out.Write([]byte(out.String()))
	return err
}
