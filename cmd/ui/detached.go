package ui

import (
	"fmt"
	"strings"
	"time"
)

// Detached is a run in the background that stands.
type Detached struct {
	Jobs    []DetachedJob
	Version string
	PID     int
	Socket  string
	DataDir string
	Log     string // of what taskrun has to say
}

// DetachedJob is one of its jobs.
type DetachedJob struct{ Job, RunDir string }

// WriteDetached tells how the run is reached: words on stderr, or an object of
// type "run" on stdout for each job.
func WriteDetached(s *Streams, mode Mode, colour ColourMode, d Detached) error {
	var out strings.Builder
	style := s.ErrStyle(colour)
	for _, j := range d.Jobs {
		switch mode {
		case JSON:
			writeJSON(&out, struct {
				jsonRun
				RunDir string `json:"run_dir"`
				Log    string `json:"log"`
			}{jsonRun{head("run", time.Now()), j.Job, d.Version, d.PID, d.Socket, d.DataDir}, j.RunDir, d.Log})
		case Quiet:
		default:
			fmt.Fprintf(&out, "%s job %s runs in the background\n", style.Good("✓"), style.Strong(j.Job))
			for _, c := range []struct{ command, does string }{
				{"taskrun attach " + j.Job, "shows it"},
				{"taskrun logs -f --job " + j.Job, "follows its output"},
				{"taskrun stop " + j.Job, "stops it"},
			} {
				fmt.Fprintf(&out, "  %-*s  %s\n", len("taskrun logs -f --job ")+len(j.Job), c.command, style.Quiet(c.does))
			}
		}
	}
	to := s.Err
	if mode == JSON {
		to = s.Out
	}
	_, err := to.Write([]byte(out.String()))
	return err
}
