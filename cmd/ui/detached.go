package ui

import (
	"fmt"
	"strings"
	"time"

	"taskrun/jobspec/visible"
)

// Detached is a run in the background that stands.
type Detached struct {
	Jobs    []DetachedJob
	Version string
	PID     int
	Socket  string
	DataDir string
	Log     string // of what taskrun has to say
	Address string // of the cluster that has them; empty: they are here
	Words   string // flags by which other commands find that
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
				RunDir string `json:"run_dir,omitempty"`
				Log    string `json:"log,omitempty"`
			}{jsonRun{head("run", time.Now()), j.Job, d.Version, d.PID, d.Socket, d.DataDir, d.Address}, j.RunDir, d.Log})
		case Quiet:
		default:
			job, words := visible.String(j.Job), visible.String(d.Words)
			where := "runs in the background"
			if d.Address != "" {
				where = "is registered in " + visible.String(d.Address)
			}
			fmt.Fprintf(&out, "%s job %s %s\n", style.Good("✓"), style.Strong(job), where)
			follow := "taskrun logs" + words + " -f --job " + job
			for _, c := range []struct{ command, does string }{
				{"taskrun attach" + words + " " + job, "shows it"},
				{follow, "follows its output"},
				{"taskrun stop" + words + " " + job, "stops it"},
			} {
				fmt.Fprintf(&out, "  %-*s  %s\n", len(follow), c.command, style.Quiet(c.does))
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
