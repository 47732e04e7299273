package ui

import (
	"fmt"
	"strings"
	"time"
)

// WriteFreed tells how many bytes were freed, and how many jobs were left alone
// because they run.
func WriteFreed(s *Streams, mode Mode, at time.Time, freed int64, live int) error {
	var out strings.Builder
	switch mode {
	case JSON:
		writeJSON(&out, struct {
			jsonHead
			Freed int64 `json:"freed_bytes"`
			Live  int   `json:"live_jobs"`
		}{head("cleaned", at), freed, live})
	case Quiet:
	default:
		fmt.Fprintf(&out, "freed %.1f MiB", float64(freed)/(1<<20))
		if live > 0 {
			fmt.Fprintf(&out, "; left alone: %s that runs", plural(live, "job"))
		}
		out.WriteString("\n")
	}
	_, err := s.Out.Write([]byte(out.String()))
	return err
}
