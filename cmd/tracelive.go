package cmd

import (
	"context"
	"time"

	"taskrun/cmd/report/trace"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/waterfall"
	"taskrun/engine/leaf/event"
)

const (
	// leastFrame is the shortest time between two pictures on a terminal.
	leastFrame = 100 * time.Millisecond
	// mostFrame is the longest one: bars grow, even if nothing happens.
	mostFrame = time.Second
)

// traceScreen shows a live run as a picture.
type traceScreen struct {
	source.Notices
	builder *trace.Builder
	picture func(width int) waterfall.Options
	job     string
	still   *ui.Still // nil: there is no terminal
	broken  chan error
}

// Run takes in events until they end.
func (s *traceScreen) Run(ctx context.Context, sub *event.Subscription) {
	defer sub.Close()
	events := source.Each(ctx, sub)
	frame := time.NewTimer(0)
	defer frame.Stop()
	due := time.Now() // of the next picture
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			if _, notice := e.Body.(event.Notice); notice || e.Of(s.job) {
				s.builder.Add(e)
			}
			if soon := time.Now().Add(leastFrame); due.After(soon) {
				due = soon
				frame.Reset(leastFrame)
			}
		case now := <-frame.C:
			s.draw(now)
			due = now.Add(mostFrame)
			frame.Reset(mostFrame)
		}
	}
}

func (s *traceScreen) draw(now time.Time) {
	if s.still == nil {
		return
	}
	width, height := s.still.Size()
	options := s.picture(width)
	options.Height = height - 1 // the cursor is below the picture
	if err := s.still.Show(waterfall.Lines(s.builder.Trace(now), options)); err != nil {
		select {
		case s.broken <- err:
		default:
		}
	}
}

// Broken receives the error when stdout can no longer be written to.
func (s *traceScreen) Broken() <-chan error { return s.broken }
