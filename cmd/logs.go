package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
)

type logsOptions struct {
	connection
	task           string
	follow         bool
	tail           int
	all            bool
	mode           ui.Mode
	stdout, stderr bool
	dataDir        string
}

func newLogsCommand(a *app) *cobra.Command {
	opts := logsOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "logs [TARGET...]",
		Short: "Show the output of tasks",
		Long: `Show the output of tasks, on stdout: of those that are named, or of all. Of a
single task it is shown as it is; of several each line stands behind its task,
as "up" shows it. What a task wrote to stdout comes before what it wrote to
stderr, unless --follow shows both as they come. Of a job that does not run the
output of its latest run is shown.

` + targetHelp + `

With --follow and --address a cluster is followed until Ctrl-C.

Output:
  plain  lines as the tasks wrote them
  json   one object a line, of type "log" as "up" has them; its time is that of
         the reading, for none is kept
  quiet  lines without the names of their tasks

Exit codes:
  0    it is shown; with --follow: the run has ended
  1    no task is called as TARGET says, or nothing runs
  2    the call is wrong
  125  taskrun itself failed, or the run was killed
  129, 130, 143  stopped by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed`,
		Example: `  taskrun logs web
  taskrun logs -f --tail 10 web db
  taskrun logs --stderr app[1]/web | grep ERROR`,
		ValidArgsFunction: completeTargets(a, &opts.connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runLogs(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	opts.bind(flags)
	flags.StringVar(&opts.task, "task", "", "show this `task` of the TARGETs alone")
	flags.BoolVarP(&opts.follow, "follow", "f", false, "also show what is still to come, until the run ends")
	flags.IntVarP(&opts.tail, "tail", "n", -1, "show the last `lines` of each stream; negative: all")
	bindDataDir(flags, &opts.dataDir)
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON, ui.Quiet)
	flags.BoolVarP(&opts.all, "all", "a", false, "in a cluster: also of allocations in whose place others run")
	flags.BoolVar(&opts.stdout, "stdout", false, "show stdout alone")
	flags.BoolVar(&opts.stderr, "stderr", false, "show stderr alone")
	completeJobs(a, cmd, &opts.connection)
	completeTasks(a, cmd, &opts.connection)
	return cmd
}

func runLogs(ctx context.Context, a *app, targets []string, opts logsOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	servers, err := a.servers(ctx, opts.connection)
	if err != nil {
		return err
	}
	all, selected, live, err := selectTasks(ctx, a, servers, targets, opts)
	if err != nil {
		return err
	}
	ctx, stop := a.stoppable(ctx)
	defer stop()
	l := &logsSession{app: a, opts: opts, targets: targets, selected: selected}
	tasks := l.of(all)
	for _, name := range []string{opts.task, opts.job} {
		if len(tasks) == 0 && name != "" {
			return targetError(&client.UnknownError{Target: name}, all, exitFailed)
		}
	}
	l.view = view.NewLogs(a.streams, opts.mode, a.color, l.labels(all, tasks))
	err = impatient(ctx, func() (err error) {
		if opts.follow && live {
			err = l.follow(ctx, servers)
		} else {
			err = l.show(ctx, tasks)
		}
		return errors.Join(err, l.view.Close())
	})
	return stopped(ctx, err)
}

// selectTasks returns the tasks that targets name: of the runs that live or,
// when none of them has any, of those that have ended.
func selectTasks(ctx context.Context, a *app, servers []*client.Server, targets []string, opts logsOptions) (all []*client.Task, selected *client.Selection, live bool, err error) {
	if len(servers) > 0 {
		if all, err = a.tasks(ctx, servers, opts.job); err != nil {
			return nil, nil, false, err
		}
	}
	selected, err = client.Select(all, targets)
	if err == nil && len(all) > 0 || opts.cluster.Address != "" {
		return all, selected, true, targetError(err, all, exitFailed)
	}
	kept, among, runs, failure := endedTasks(ctx, a, opts.dataDir, opts.job, targets)
	var unknown *client.UnknownError
	switch {
	case failure == nil && len(runs) > 0:
		return kept, among, false, nil
	case failure != nil && !errors.As(failure, &unknown):
		return nil, nil, false, failure
	case len(servers) == 0:
		return nil, nil, false, noRun(exitFailed)
	}
	return all, selected, true, targetError(err, all, exitFailed)
}

// logsSession shows outputs of tasks.
type logsSession struct {
	*app
	opts     logsOptions
	targets  []string
	selected *client.Selection
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
		return (&exitError{code: exitFailed, err: fmt.Errorf("task %q has not started yet", tasks[0].Name)}).
			withHint("wait for its output with: taskrun logs -f")
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
	out, err := t.Open(ctx, client.Log{Stream: stream.String(), Tail: l.opts.tail})
	if err != nil {
		return err
	}
	defer out.Close()
	alloc := t.EventAlloc()
	buf := make([]byte, pieceSize)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			if err := l.view.Write(alloc, t.Name, stream, buf[:n]); err != nil {
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
