package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/engine/leaf/event"
)

// followServer shows the output of a cluster, or of one run until that has
// ended. The latter is read from its files, which outlive the engine: nothing is
// lost however slowly it is shown, and whatever ends the engine.
func (l *logsSession) followServer(ctx context.Context, s *client.Server) error {
	screen := &logsScreen{session: l, broken: make(chan error, 1)}
	if s.Socket == "" {
		logs := cluster.NewLogs(s)
		logs.Job, logs.Tail, logs.Streams, logs.Want = l.opts.job, l.opts.tail, l.opts.streams(), l.of
		return follow(ctx, outside(logs, screen, true))
	}
	self, err := s.Self(ctx)
	if client.Gone(err) { // the run has just ended
		kept, _, _, err := endedTasks(ctx, l.app, l.opts.dataDir, l.opts.job, l.targets)
		if err != nil {
			return err
		}
		return l.show(ctx, l.of(kept))
	}
	if err != nil {
		return err
	}
	d := source.NewDirectory(s, self)
	defer d.Close()
	d.Detail, d.Want, d.Tail = source.Outputs, l.wants, l.opts.tail
	return follow(ctx, outside(d, screen, true))
}

// logsScreen shows the output of one run beside that of others.
type logsScreen struct {
	session *logsSession
	broken  chan error
	piece   []byte
}

// Run shows output until there is no more.
func (s *logsScreen) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	type taskKey struct{ alloc, task string }
	open := map[taskKey]*event.Alloc{} // whose lines may not have ended
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		var err error
		switch body := e.Body.(type) {
		case event.Output:
			open[taskKey{e.Alloc.ID, e.Task}] = e.Alloc
			err = s.write(e, body)
		case event.Gap:
			s.session.warn(fmt.Errorf("%d bytes of %s of task %q are left out here: the reader was too slow", body.Bytes, body.Stream, e.Task))
		case event.TaskState: // nothing more comes
			delete(open, taskKey{e.Alloc.ID, e.Task})
			err = s.session.view.Ended(e.Alloc, e.Task)
		case event.Notice:
			s.Say(body.Text)
		}
		if err != nil {
			s.fail(err)
			return
		}
	}
	for key, alloc := range open {
		if err := s.session.view.Ended(alloc, key.task); err != nil {
			s.fail(err)
		}
	}
}

// write shows a piece of output.
func (s *logsScreen) write(e event.Event, out event.Output) error {
	s.piece = slices.Grow(s.piece[:0], int(out.Length))[:out.Length]
	n, err := out.Source.ReadAt(s.piece, out.Offset)
	if n < len(s.piece) {
		return fmt.Errorf("cannot read %s of task %q: %w", out.Stream, e.Task, err)
	}
	return s.session.view.Write(e.Alloc, e.Task, out.Stream, s.piece)
}

func (s *logsScreen) fail(err error) {
	select {
	case s.broken <- err:
	default: // one is enough
	}
}

// Say warns of something.
func (s *logsScreen) Say(text string) { s.session.warn(errors.New(text)) }

// SayAfter warns of something at once.
func (s *logsScreen) SayAfter(_ uint64, text string) { s.Say(text) }

// Broken gets the error with which showing ended.
func (s *logsScreen) Broken() <-chan error { return s.broken }
