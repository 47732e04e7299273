package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

type logsOptions struct {
	lookup.Connection
	shown          shownTasks
	follow         bool
	tail           int
	since          time.Time
	timestamps     bool
	all            bool
	mode           ui.Mode
	stdout, stderr bool
}

// checkTimes refuses to show times that a cluster does not keep.
func (o *logsOptions) checkTimes() error {
	switch {
	case o.Cluster.Address == "":
		return nil
	case !o.since.IsZero():
		return exit.Usage("cannot use --since in a cluster: Nomad does not keep the times of output").WithHint("to show the last lines: --tail 100")
	case o.timestamps && !o.follow:
		return exit.Usage("cannot use --timestamps in a cluster: Nomad does not keep the times of output").WithHint("to show when lines arrive from now on: --follow --tail 0")
	}
	return nil
}

func (o *logsOptions) streams() []event.Stream {
	switch {
	case o.stderr && !o.stdout:
		return []event.Stream{event.Stderr}
	case o.stdout && !o.stderr:
		return []event.Stream{event.Stdout}
	}
	return event.Streams
}

type logsSession struct {
	a        *app
	opts     logsOptions
	targets  []string
	selected *client.Selection
	ofRun    string // the job of the only run that is shown; empty: all runs
	runs     map[*client.Server]*source.Directory
	view     *view.Logs
}

// run shows the output of those of all tasks that are selected; of the live runs of
// servers also what is to come, if that is wanted.
func (l *logsSession) run(ctx context.Context, servers []*client.Server, all []*client.Task) error {
	ctx, stop := l.a.Stoppable(ctx)
	defer stop()
	tasks := l.of(all)
	if err := l.checkShown(all); err != nil {
		return err
	}
	if len(tasks) == 0 && l.opts.Job != "" {
		return lookup.TargetError(&client.UnknownError{Target: l.opts.Job}, all, verdict.Failed)
	}
	format := ui.TimeNone
	if l.opts.timestamps {
		format = ui.TimeISO
	}
	l.view = view.NewLogs(l.a.Streams, l.opts.mode, l.a.Color, format, l.opts.shown.prefix, l.labels(all, tasks))
	err := console.Impatient(ctx, func() (err error) {
		if l.opts.follow && servers != nil {
			err = l.follow(ctx, servers)
		} else {
			err = l.show(ctx, tasks)
		}
		return errors.Join(err, l.view.Close())
	})
	return exit.Stopped(ctx, err)
}

// of returns the tasks whose output is shown.
func (l *logsSession) of(tasks []*client.Task) []*client.Task {
	return slices.DeleteFunc(l.selected.Of(tasks), func(t *client.Task) bool {
		old := t.Server.Address != "" && t.Outlived() && !l.opts.all && !l.selected.ByID(t)
		return t.Name == "" || old || !l.opts.shown.selects(t.Job(), t.Alloc.TaskGroup, t.Index, t.Name)
	})
}

// checkShown refuses names of tasks and groups that the targets do not have.
func (l *logsSession) checkShown(all []*client.Task) error {
	var k knownTasks
	for _, t := range l.selected.Of(all) {
		if t.Name != "" {
			k.add(t.Job(), t.Alloc.TaskGroup, t.Index, t.Name)
		}
	}
	return k.check(&l.opts.shown, verdict.Failed)
}

func (l *logsSession) labels(all, tasks []*client.Task) []view.Label {
	names := client.Labels(all)
	labels := make([]view.Label, len(tasks))
	for i, t := range tasks {
		labels[i] = view.Label{Alloc: t.Alloc.Name, Task: t.Name, Label: names[t]}
	}
	return labels
}

// show shows what there is, task by task.
func (l *logsSession) show(ctx context.Context, tasks []*client.Task) error {
	started := false
	for _, t := range tasks {
		if !t.Started() {
			continue
		}
		started = true
		for _, stream := range l.opts.streams() {
			if err := l.read(ctx, t, stream); err != nil {
				return err
			}
		}
	}
	if !started && len(tasks) == 1 {
		return exit.Failed("task %q has not started yet", tasks[0].Name).WithHint("wait for its output with: taskrun logs -f")
	}
	return nil
}

// follow shows past and future output, also of tasks that start later, until no run
// is left.
func (l *logsSession) follow(ctx context.Context, servers []*client.Server) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var following sync.WaitGroup
	for _, s := range servers {
		following.Go(func() {
			if err := l.followServer(ctx, s); err != nil {
				cancel(err)
			}
		})
	}
	following.Wait()
	return context.Cause(ctx)
}

func (l *logsSession) wants(t *client.Task, stream event.Stream) bool {
	ofJob := l.opts.Job == "" || t.OfJob(l.opts.Job)
	ofRun := l.ofRun == "" || t.OfRun(l.ofRun)
	return ofJob && ofRun && slices.Contains(l.opts.streams(), stream) && len(l.of([]*client.Task{t})) > 0
}

// pieceSize is how much output is read at a time, in bytes.
const pieceSize = 64 << 10

// read shows one output of a task until its end.
func (l *logsSession) read(ctx context.Context, t *client.Task, stream event.Stream) error {
	out, err := l.open(ctx, t, client.Log{Stream: stream, Tail: l.opts.tail, Since: l.opts.since})
	if err != nil {
		return err
	}
	defer out.Close()
	alloc := t.EventAlloc()
	buf := make([]byte, pieceSize)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			if err := l.view.Write(out.Time(), alloc, t.Name, stream, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return l.view.Ended(alloc, t.Name)
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("%s of task %q broke off: %w", stream, t.Name, t.Server.Lost(err))
		}
	}
}

// open opens an output. Those of a run of this machine are read from their files,
// where the times are too.
func (l *logsSession) open(ctx context.Context, t *client.Task, part client.Log) (client.Output, error) {
	if t.Server.Socket == "" {
		return t.Open(ctx, part)
	}
	d := l.runs[t.Server]
	if d == nil {
		self, err := t.Server.Self(ctx)
		if err != nil {
			return nil, err
		}
		if l.runs == nil {
			l.runs = map[*client.Server]*source.Directory{}
		}
		d = source.NewDirectory(t.Server, self)
		l.runs[t.Server] = d
	}
	out, err := d.Open(t, part)
	if out == nil && err == nil { // the job keeps it off the disk
		return t.Open(ctx, part)
	}
	return out, err
}

// followServer shows the output of a cluster, or of one run until that has
// ended. The latter is read from its files, which outlive the engine: nothing is
// lost however slowly it is shown, and whatever ends the engine.
func (l *logsSession) followServer(ctx context.Context, s *client.Server) error {
	screen := &logsScreen{Notices: func(text string) { l.a.Warn(errors.New(text)) }, session: l, broken: make(chan error, 1)}
	if s.Socket == "" {
		logs := cluster.NewLogs(s)
		logs.Job, logs.Tail, logs.Streams, logs.Want = l.opts.Job, l.opts.tail, l.opts.streams(), l.of
		return follow(ctx, outside(logs, screen, true))
	}
	self, err := s.Self(ctx)
	if s.Died(err) { // the run has just ended
		kept, _, _, err := l.a.runs.EndedTasks(ctx, l.opts.DataDir, cmp.Or(l.ofRun, l.opts.Job), l.targets)
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
	if l.ofRun != "" {
		d.Narrow(l.ofRun)
	}
	d.Detail, d.Want, d.Tail, d.Since = source.Outputs, l.wants, l.opts.tail, l.opts.since
	return follow(ctx, outside(d, screen, true))
}

// logsScreen shows the output of one run beside that of others.
type logsScreen struct {
	source.Notices
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
			s.session.a.Warn(fmt.Errorf("%d bytes of %s of task %q were left out here: the reader was too slow", body.Bytes, body.Stream, e.Task))
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

func (s *logsScreen) write(e event.Event, out event.Output) error {
	s.piece = slices.Grow(s.piece[:0], int(out.Length))[:out.Length]
	n, err := out.Source.ReadAt(s.piece, out.Offset)
	if n < len(s.piece) {
		return fmt.Errorf("cannot read %s of task %q: %w", out.Stream, e.Task, err)
	}
	return s.session.view.Write(e.Time, e.Alloc, e.Task, out.Stream, s.piece)
}

func (s *logsScreen) fail(err error) {
	select {
	case s.broken <- err:
	default: // one is enough
	}
}

// Broken gets the error with which showing ended.
func (s *logsScreen) Broken() <-chan error { return s.broken }
