package view

import (
	"os"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/outcome"
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
	Untested []ui.Diagnostic // everything that a rehearsal has not tested, for its end
	Begin    time.Time       // start of the run
	Version  string
	DataDir  string
	Socket   string // where the run is served; empty: nowhere
	Address  string // of the cluster that has the jobs; empty: they are here
	PID      int    // of the run; 0: it is this program's
	Virtual  bool   // the run is shown without what differs between two runs: its PID and its directory
	Bare     bool   // nothing is said before the first event
	Verbose  bool   // every task event has a line, also where its state says the same
	Prefix   ui.Prefix
	// Shows reports whether the user wants to see a task or, without a task, an
	// allocation; nil: everything. Failures are shown in any case.
	Shows func(alloc *event.Alloc, task string) bool
	// Past are the events before the view, which it does not show. Said announces
	// that, unless it is empty.
	Past []event.Event
	Said string
}

func (o *Options) pid() int {
	if o.PID != 0 || o.Address != "" || o.Virtual {
		return o.PID
	}
	return os.Getpid()
}

func (o *Options) dataDir() string {
	if o.Virtual {
		return ""
	}
	return o.DataDir
}

// Result is how a run ended.
type Result = outcome.Result

// common is the common part of the views of a run.
type common struct {
	Options
	streams  *ui.Streams
	screen   *screen
	errStyle *ui.Style
	run      *fold.Run
	tails    *tails
}

func newCommon(s *ui.Streams, opts Options) *common {
	return &common{opts, s, newScreen(s), s.ErrStyle(opts.Color), fold.New(opts.Jobs, opts.Past...), newTails()}
}

// hides reports whether the user does not want to see the task or the allocation of
// an event.
func (c *common) hides(e event.Event) bool {
	return c.Shows != nil && e.Alloc != nil && !c.Shows(e.Alloc, e.Task)
}

// widthOfLogs limits lines if there is no terminal.
const widthOfLogs = 240

func (c *common) lastOutput(allocID, task string) []string {
	return c.tails.last(allocID, task, outcome.LastLines, widthOfLogs)
}

func (c *common) warnings() (n int) {
	for _, d := range c.Warnings {
		if d.Severity == "warning" {
			n++
		}
	}
	return n
}
