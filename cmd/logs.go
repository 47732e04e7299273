package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
)

type logsOptions struct {
	connection
	task           string
	follow         bool
	tail           int
	since          time.Time
	timestamps     bool
	all            bool
	mode           ui.Mode
	stdout, stderr bool
	dataDir        string
}

func newLogsCommand(a *app) *cobra.Command {
	opts := logsOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "logs [RUN] [TARGET...]",
		Short: "Show the output of tasks",
		Long: `Show the output of the tasks that TARGET matches, or of all tasks, on stdout.
The output of a single task is shown as it is. With several tasks, each line is
prefixed with its task, as "taskrun up" shows it. The stdout of a task comes
before its stderr, unless --follow shows both as they come. For a job that is
not running, show its latest run. With RUN, show only its tasks: it is a run as
"taskrun runs" lists it, or a file that "taskrun export" wrote.

` + targetHelp + `

With --address, --follow continues until Ctrl-C.

The time of a line is when taskrun read it from the task. Nomad keeps no times,
so --since cannot be used in a cluster. There, --timestamps requires --follow
and shows when each line arrived.

Output:
  plain  lines as the tasks wrote them
  json   one object of type "log" per line, as "taskrun up" writes them
  quiet  lines without the names of their tasks

Exit codes:
  0    success; with --follow, the run has ended
  1    no task matches TARGET, or there is no run
  2    the call is wrong
  125  taskrun itself failed, or the run was killed
  129, 130, 143  stopped by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed`,
		Example: `  taskrun logs web
  taskrun logs -f --tail 10 web db
  taskrun logs -t --since 5m web
  taskrun logs --stderr 'app[1]/web' | grep ERROR
  taskrun logs web.zip db`,
		ValidArgsFunction: completeTargets(a, &opts.connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runLogs(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	opts.bind(flags)
	flags.StringVar(&opts.task, "task", "", "show only this `task` of the TARGETs")
	flags.BoolVarP(&opts.follow, "follow", "f", false, "continue with new output until the run ends")
	flags.IntVarP(&opts.tail, "tail", "n", -1, "show the last `lines` of each stream; negative: all")
	flags.Var(pastTime{&opts.since}, "since", "show lines since a `time`: 5m ago, or RFC 3339")
	flags.BoolVarP(&opts.timestamps, "timestamps", "t", false, "show the time of each line")
	bindDataDir(flags, &opts.dataDir)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	flags.BoolVarP(&opts.all, "all", "a", false, "in a cluster: also show allocations that were replaced")
	flags.BoolVar(&opts.stdout, "stdout", false, "show only stdout")
	flags.BoolVar(&opts.stderr, "stderr", false, "show only stderr")
	completeJobs(a, cmd, &opts.connection)
	completeTasks(a, cmd, &opts.connection)
	return cmd
}

func runLogs(ctx context.Context, a *app, targets []string, opts logsOptions) error {
	if err := opts.checkTimes(); err != nil {
		return err
	}
	if opts.cluster.Address == "" && isPath(first(targets)) {
		return logsOfRun(ctx, a, targets, opts)
	}
	servers, all, err := a.tasks(ctx, opts.connection)
	if err != nil {
		return err
	}
	live := true
	selected, err := client.Select(all, targets)
	if (err != nil || len(all) == 0) && opts.cluster.Address == "" {
		kept, among, runs, failure := a.endedTasks(ctx, opts.dataDir, opts.job, targets)
		unknown := &client.UnknownError{}
		switch {
		case failure == nil && len(runs) > 0:
			all, selected, live, err = kept, among, false, nil
		case failure != nil && !errors.As(failure, &unknown):
			return failure
		case a.namesRun(ctx, first(targets), opts.dataDir):
			return logsOfRun(ctx, a, targets, opts)
		case len(servers) == 0 && len(targets) > 0:
			return failed("no task and no run that is kept matches %q", targets[0]).withHint("see: taskrun runs")
		case len(servers) == 0:
			return noRun(exitFailed)
		}
	}
	if err != nil {
		return targetError(err, all, exitFailed)
	}
	if !live {
		servers = nil
	}
	return showLogs(ctx, a, servers, all, selected, targets, opts)
}

// logsOfRun shows the output of tasks of the run that the first argument names.
func logsOfRun(ctx context.Context, a *app, args []string, opts logsOptions) error {
	r, err := a.openRun(ctx, args[0], opts.dataDir)
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := r.Tasks()
	for _, w := range r.Warnings() {
		a.warn(fmt.Errorf("run %s: %s", r.Name(), w))
	}
	if err != nil {
		return err
	}
	selected, err := client.Select(all, args[1:])
	if err != nil {
		return targetError(err, all, exitFailed)
	}
	return showLogs(ctx, a, nil, all, selected, args[1:], opts)
}

// showLogs shows the output of those of all tasks that are selected; of the live runs
// of servers also what is to come, if that is wanted.
func showLogs(ctx context.Context, a *app, servers []*client.Server, all []*client.Task, selected *client.Selection, targets []string, opts logsOptions) error {
	ctx, stop := a.stoppable(ctx)
	defer stop()
	l := &logsSession{a: a, opts: opts, targets: targets, selected: selected, runs: map[*client.Server]*source.Directory{}}
	tasks := l.of(all)
	for _, name := range []string{opts.task, opts.job} {
		if len(tasks) == 0 && name != "" {
			return targetError(&client.UnknownError{Target: name}, all, exitFailed)
		}
	}
	format := ui.TimeNone
	if opts.timestamps {
		format = ui.TimeISO
	}
	l.view = view.NewLogs(a.streams, opts.mode, a.color, format, l.labels(all, tasks))
	err := impatient(ctx, func() (err error) {
		if opts.follow && servers != nil {
			err = l.follow(ctx, servers)
		} else {
			err = l.show(ctx, tasks)
		}
		return errors.Join(err, l.view.Close())
	})
	return stopped(ctx, err)
}

// checkTimes refuses to show times that a cluster does not keep.
func (o *logsOptions) checkTimes() error {
	switch {
	case o.cluster.Address == "":
		return nil
	case !o.since.IsZero():
		return usageError("cannot use --since in a cluster: Nomad does not keep the times of output").withHint("to show the last lines: --tail 100")
	case o.timestamps && !o.follow:
		return usageError("cannot use --timestamps in a cluster: Nomad does not keep the times of output").withHint("to show when lines arrive from now on: --follow --tail 0")
	}
	return nil
}

// logsSession shows outputs of tasks.
type logsSession struct {
	a        *app
	opts     logsOptions
	targets  []string
	selected *client.Selection
	runs     map[*client.Server]*source.Directory
	view     *view.Logs
}

// of returns the tasks whose output is to be shown.
func (l *logsSession) of(tasks []*client.Task) []*client.Task {
	return slices.DeleteFunc(l.selected.Of(tasks), func(t *client.Task) bool {
		old := t.Server.Address != "" && t.Outlived() && !l.opts.all && !l.selected.ByID(t)
		return t.Name == "" || old || l.opts.task != "" && t.Name != l.opts.task
	})
}

func (l *logsSession) labels(all, tasks []*client.Task) []view.Label {
	names := client.Labels(all)
	labels := make([]view.Label, len(tasks))
	for i, t := range tasks {
		labels[i] = view.Label{Alloc: t.Alloc.Name, Task: t.Name, Label: names[t]}
	}
	return labels
}

// streams are the outputs that are to be shown of each task.
func (o *logsOptions) streams() []event.Stream {
	switch {
	case o.stderr && !o.stdout:
		return []event.Stream{event.Stderr}
	case o.stdout && !o.stderr:
		return []event.Stream{event.Stdout}
	}
	return event.Streams
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
		return failed("task %q has not started yet", tasks[0].Name).withHint("wait for its output with: taskrun logs -f")
	}
	return nil
}

// follow shows what there is and what comes, also of tasks that start later,
// until no run is left.
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

// wants reports whether an output is to be shown.
func (l *logsSession) wants(t *client.Task, stream event.Stream) bool {
	ofJob := l.opts.job == "" || t.Alloc.JobID == l.opts.job
	return ofJob && slices.Contains(l.opts.streams(), stream) && len(l.of([]*client.Task{t})) > 0
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
	screen := &logsScreen{session: l, broken: make(chan error, 1)}
	if s.Socket == "" {
		logs := cluster.NewLogs(s)
		logs.Job, logs.Tail, logs.Streams, logs.Want = l.opts.job, l.opts.tail, l.opts.streams(), l.of
		return follow(ctx, outside(logs, screen, true))
	}
	self, err := s.Self(ctx)
	if s.Died(err) { // the run has just ended
		kept, _, _, err := l.a.endedTasks(ctx, l.opts.dataDir, l.opts.job, l.targets)
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
	d.Detail, d.Want, d.Tail, d.Since = source.Outputs, l.wants, l.opts.tail, l.opts.since
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
			s.session.a.warn(fmt.Errorf("%d bytes of %s of task %q were left out here: the reader was too slow", body.Bytes, body.Stream, e.Task))
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
	return s.session.view.Write(e.Time, e.Alloc, e.Task, out.Stream, s.piece)
}

func (s *logsScreen) fail(err error) {
	select {
	case s.broken <- err:
	default: // one is enough
	}
}

// Say warns of something.
func (s *logsScreen) Say(text string) { s.session.a.warn(errors.New(text)) }

// SayAfter warns of something at once.
func (s *logsScreen) SayAfter(_ uint64, text string) { s.Say(text) }

// Broken gets the error with which showing ended.
func (s *logsScreen) Broken() <-chan error { return s.broken }
