// Package view shows a run: as lines of text, as JSON, or only the tasks'
// output. Package fold provides the state; views decide nothing.
package view

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// pieceSize is the size of a read of output, in bytes.
const pieceSize = 256 << 10

// view is a way to show a run. Its methods are called by one goroutine.
type view interface {
	// begin shows what is known before the first event.
	begin()
	// event shows an event other than output. The state of the run includes it
	// already.
	event(e event.Event)
	// output shows a piece of a task's output. The bytes are only valid during
	// the call.
	output(e event.Event, stream event.Stream, piece []byte)
	// idle is called before the display waits. Nothing that a person wants to
	// see now may be held back. It is called again at the time that it returns,
	// if that is not zero and nothing happens before.
	idle() (again time.Time)
	// end shows how the run ended.
	end(r Result)
	// said returns a message to the user in the form for stderr, or "" if the
	// view does not show it there.
	said(at time.Time, text string) string
}

// Display shows a run. One goroutine calls Run and then End; the other methods
// are safe for concurrent use.
type Display struct {
	*common
	view   view
	piece  []byte
	broken chan error
	gap    event.Event // not shown yet, because more may follow; no Body: none

	again time.Time // when the view wants to be idle again; zero: after the next event

	seen uint64 // number of the latest event that is shown or about to be shown

	mu      sync.Mutex
	written uint64 // value of seen at the last flush
	later   []saying
}

// saying is a message to show after an event.
type saying struct {
	after uint64
	text  string
}

// New returns a display.
func New(s *ui.Streams, opts Options) *Display {
	d := &Display{common: newCommon(s, opts), piece: make([]byte, pieceSize), broken: make(chan error, 1)}
	switch opts.Mode {
	case ui.JSON:
		d.view = newJSONView(d.common)
	case ui.Quiet:
		d.view = newQuiet(d.common)
	default:
		d.view = newPlain(d.common)
	}
	return d
}

// Run shows events until the subscription ends.
func (d *Display) Run(ctx context.Context, sub *event.Subscription) {
	defer sub.Close()
	if _, lines := d.view.(*plain); lines && d.screen.on() {
		defer d.streams.OnSuspend(d.screen.hide, d.screen.reveal)()
	}
	if !d.Bare {
		d.view.begin()
	}
	d.rest()
	if d.Said != "" {
		d.Say(d.Said)
	}
	for {
		e, ok := d.next(ctx, sub)
		if !ok {
			break
		}
		d.show(e)
		d.seen = e.Seq
		if !sub.Ready() {
			d.idle()
		} else if d.due() {
			d.rest()
		}
	}
	d.screen.clear()
	d.seen = math.MaxUint64
	d.rest()
}

// next returns the next event, or false if there will be none. Until it comes, the
// view may show that time passes.
func (d *Display) next(ctx context.Context, sub *event.Subscription) (event.Event, bool) {
	for !d.again.IsZero() && !sub.Ready() {
		waiting, cancel := context.WithDeadline(ctx, d.again)
		e, ok := sub.Next(waiting)
		late := waiting.Err() != nil && ctx.Err() == nil
		cancel()
		if ok || !late {
			return e, ok
		}
		d.idle()
	}
	return sub.Next(ctx)
}

// idle shows what must not wait any longer.
func (d *Display) idle() {
	d.again = d.view.idle()
	d.rest()
}

// SayAfter is like Say, but shows the message after the event that led to it.
func (d *Display) SayAfter(seq uint64, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seq > d.written {
		d.later = append(d.later, saying{seq, text})
		return
	}
	d.Say(text)
}

func (d *Display) due() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.later) > 0 && d.later[0].after <= d.seen
}

// sayLater shows the messages that were waiting for events shown by now.
func (d *Display) sayLater() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written = d.seen
	for len(d.later) > 0 && d.later[0].after <= d.seen {
		d.Say(d.later[0].text)
		d.later = d.later[1:]
	}
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
	hidden := d.hides(e)
	for at, end := out.Offset, out.Offset+out.Length; at < end; {
		n, err := out.Source.ReadAt(d.piece[:min(end-at, pieceSize)], at)
		if n > 0 {
			d.tails.add(e.Alloc.ID, e.Task, d.piece[:n]) // the task may fail
		}
		if n > 0 && !hidden {
			d.showGap()
			d.view.output(e, out.Stream, d.piece[:n])
		}
		at += int64(n)
		if err != nil && at < end {
			d.lost(e, out.Stream, end-at, err)
			return
		}
	}
}

func (d *Display) lost(e event.Event, stream event.Stream, n int64, err error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, event.ErrOverwritten) {
		d.showGap()
		d.view.event(event.Event{Time: e.Time, Alloc: e.Alloc, Task: e.Task, Body: event.Notice{
			Text: "cannot read output: " + err.Error(),
		}})
	}
	d.leaveOut(e, event.Gap{Stream: stream, Bytes: n})
}

// leaveOut records omitted output. One line reports all of it in one place.
func (d *Display) leaveOut(e event.Event, gap event.Gap) {
	if d.hides(e) {
		return
	}
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
	d.sayLater()
}

// Broken receives the error of the first failed write to stdout. Later output
// is dropped.
func (d *Display) Broken() <-chan error { return d.broken }

// Say shows a message at once, even while stdout is blocked.
func (d *Display) Say(text string) {
	said := d.view.said(time.Now(), text)
	switch { // overwrites the ^C that the terminal shows
	case said == "":
		return
	case !d.streams.ErrTerm:
	case d.streams.Cursor():
		said = eraseBelow + said
	default:
		said = "\r" + said
	}
	d.screen.say(said)
}

// HideLine removes the line at the bottom of a terminal, and shows no other one until
// ShowLine, so that the user can answer a question there.
func (d *Display) HideLine() { d.screen.hide() }

// ShowLine ends HideLine.
func (d *Display) ShowLine() { d.screen.reveal() }

// LastOutput returns the last lines of a task's output that were shown.
func (d *Display) LastOutput(allocID, task string) []string { return d.lastOutput(allocID, task) }

// End shows how the run ended.
func (d *Display) End(r Result) {
	d.view.end(r)
	d.rest()
}
