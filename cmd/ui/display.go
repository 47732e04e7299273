package ui

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// pieceSize is how much output is read at a time, in bytes.
const pieceSize = 256 << 10

// Options is what a display needs to know.
type Options struct {
	Mode     Mode
	Colour   ColourMode
	Time     TimeFormat
	Jobs     []*api.Job   // canonicalised
	Warnings []Diagnostic // found in the jobs
	Begin    time.Time    // of the run
	Version  string
	DataDir  string
	Socket   string // where the run is served; empty: nowhere
	Address  string // of the cluster that has the jobs; empty: they are here
	PID      int    // of the run; 0: it is this program's
	Bare     bool   // nothing is said before the first event
	// Past is what has happened before, and is not shown any more; Said tells
	// of it, if it is not empty.
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
	// Cause tells in a few words why the run was stopped, and is empty when it
	// ended by itself.
	Cause string
	Time  time.Time
}

// view is one way of showing a run. Its methods are called by one goroutine.
type view interface {
	// begin shows what is known before anything has happened.
	begin()
	// event shows anything but output. The model has been told already.
	event(e event.Event)
	// output shows a piece of a task's output; the bytes are lent.
	output(e event.Event, stream event.Stream, piece []byte)
	// idle is called before the display waits: nothing may be held back that
	// a person would like to see now.
	idle()
	// end shows how the run ended.
	end(r Result)
	// said returns a word to the user as the view would show it on stderr, or
	// "" when it is not to be shown.
	said(at time.Time, text string) string
}

// Display shows a run. One goroutine calls Run and then End; Say and Broken
// are for any.
type Display struct {
	streams *Streams
	screen  *screen
	run     *fold.Run
	tails   tails
	view    view
	piece   []byte
	broken  chan error
	bare    bool
	past    string      // what is said of it
	gap     event.Event // that is not shown yet: more may be left out; without Body for none
}

// New returns a display that has shown nothing yet.
func New(s *Streams, opts Options) *Display {
	d := &Display{
		streams: s,
		screen:  newScreen(s),
		run:     fold.New(opts.Jobs, opts.Past...),
		tails:   make(tails),
		piece:   make([]byte, pieceSize),
		broken:  make(chan error, 1),
		bare:    opts.Bare,
		past:    opts.Said,
	}
	d.view = opts.Mode.view(d, opts)
	return d
}

// Run shows what happens until the subscription ends.
func (d *Display) Run(ctx context.Context, sub *event.Subscription) {
	defer sub.Close()
	if !d.bare {
		d.view.begin()
	}
	d.rest()
	if d.past != "" {
		d.Say(d.past)
	}
	for {
		e, ok := sub.Next(ctx)
		if !ok {
			break
		}
		d.show(e)
		if !sub.Ready() {
			d.view.idle()
			d.rest()
		}
	}
	d.rest()
}

func (d *Display) show(e event.Event) {
	out, ok := e.Body.(event.Output)
	if gap, isGap := e.Body.(event.Gap); isGap {
		d.leaveOut(e, gap)
		return
	}
	if !ok {
		d.showGap()
		d.run.Apply(e)
		d.view.event(e)
		return
	}
	for at, end := out.Offset, out.Offset+out.Length; at < end; {
		n, err := out.Source.ReadAt(d.piece[:min(end-at, pieceSize)], at)
		if n > 0 {
			d.showGap()
			d.tails.add(e.Alloc.ID, e.Task, d.piece[:n])
			d.view.output(e, out.Stream, d.piece[:n])
		}
		at += int64(n)
		if err != nil && at < end {
			d.lost(e, out.Stream, end-at, err)
			return
		}
	}
}

// lost tells of output that was announced but cannot be read.
func (d *Display) lost(e event.Event, stream event.Stream, n int64, err error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, event.ErrOverwritten) {
		d.showGap()
		d.view.event(event.Event{Time: e.Time, Alloc: e.Alloc, Task: e.Task, Body: event.Notice{
			Text: "cannot read output: " + err.Error(),
		}})
	}
	d.leaveOut(e, event.Gap{Stream: stream, Bytes: n})
}

// leaveOut takes in that output is left out. One line tells of all that is so
// in one place.
func (d *Display) leaveOut(e event.Event, gap event.Gap) {
	before, ok := d.gap.Body.(event.Gap)
	if ok && d.gap.Alloc == e.Alloc && d.gap.Task == e.Task && before.Stream == gap.Stream {
		gap.Bytes += before.Bytes
	} else {
		d.showGap()
	}
	d.gap = e
	d.gap.Body = gap
}

func (d *Display) showGap() {
	if d.gap.Body != nil {
		d.view.event(d.gap)
		d.gap = event.Event{}
	}
}

// rest writes everything before the display waits.
func (d *Display) rest() {
	d.showGap()
	if err := d.screen.flush(); err != nil {
		d.screen.discardOut()
		select {
		case d.broken <- err:
		default:
		}
	}
}

// Broken gets the error of stdout when it cannot be written to any more; what
// follows for it is dropped.
func (d *Display) Broken() <-chan error { return d.broken }

// Say tells the user something at once, even while stdout is blocked.
func (d *Display) Say(text string) {
	said := d.view.said(time.Now(), text)
	switch { // over the ^C that the terminal shows
	case said == "" || !d.streams.ErrTerm:
	case d.streams.cursor():
		said = eraseLine + said
	default:
		said = "\r" + said
	}
	_, _ = io.WriteString(d.streams.Err, said) // if stderr is gone there is nobody to tell
}

// End shows how the run ended.
func (d *Display) End(r Result) {
	d.view.end(r)
	d.rest()
}
