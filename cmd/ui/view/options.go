package view

import (
	"os"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Options are the options of a display.
type Options struct {
	Mode     ui.Mode
	Color    ui.ColorMode
	Time     ui.TimeFormat
	Jobs     []*api.Job      // canonical
	Warnings []ui.Diagnostic // about the jobs
	Begin    time.Time       // start of the run
	Version  string
	DataDir  string
	Socket   string // of the run; empty: none
	Address  string // of the cluster with the jobs; empty: this machine
	PID      int    // of the run; 0: this process
	Bare     bool   // show nothing before the first event
	Verbose  bool   // show every task event, even if a state says the same
	// Past are the events of the past, which are not shown. Said, if not empty,
	// sums them up.
	Past []event.Event
	Said string
}

func (o *Options) pid() int {
	if o.PID != 0 || o.Address != "" {
		return o.PID
	}
	return os.Getpid()
}

// Result is how a run ended.
type Result struct {
	ExitCode int
	// Cause explains in a few words why the run was stopped. It is empty if the
	// run ended by itself.
	Cause string
	User  bool // the user stopped it
	Time  time.Time
}

// common is what the views of a run have in common.
type common struct {
	Options
	streams  *ui.Streams
	screen   *screen
	errStyle *ui.Style
	run      *fold.Run
	tails    tails
}

func newCommon(s *ui.Streams, opts Options) *common {
	return &common{opts, s, newScreen(s), s.ErrStyle(opts.Color), fold.New(opts.Jobs, opts.Past...), make(tails)}
}
