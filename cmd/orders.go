package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
)

// orderOptions are the options of commands that act on tasks or measure them.
type orderOptions struct {
	lookup.Connection
	mode ui.Mode
}

const orderHelp = `

Output:
  plain  a line for each task
  json   one object per line for each task
  quiet  nothing

Exit codes:
  0    success
  1    no task matches TARGET, or none of the matches is running
  2    the call is wrong
  125  taskrun itself failed, or the run refused`

// bindOrder adds the flags of commands that act on tasks.
func bindOrder(a *app, cmd *cobra.Command, opts *orderOptions) {
	opts.Bind(cmd.Flags())
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	completeFilters(a, cmd, &opts.Connection)
}

// taskOrder acts on tasks, and reports for which ones that worked.
type taskOrder struct {
	a      *app
	mode   ui.Mode
	tasks  []*client.Task
	labels map[*client.Task]string
}

// newOrder returns an order for the running tasks that targets match.
func newOrder(ctx context.Context, a *app, targets []string, opts orderOptions) (*taskOrder, error) {
	return newOrderFor(ctx, a, targets, opts, (*client.Task).Running, client.NotRunning)
}

// newOrderFor returns an order for the tasks that targets match and to which it
// applies. If it applies to none that a target matches, the error is that of refuse.
func newOrderFor(ctx context.Context, a *app, targets []string, opts orderOptions, applies func(*client.Task) bool,
	refuse func(target string, found []*client.Task, labels map[*client.Task]string) error,
) (*taskOrder, error) {
	servers, all, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, lookup.NoRun(verdict.Failed, opts.DataDir)
	}
	o := &taskOrder{a: a, mode: opts.mode, labels: client.Labels(all)}
	for _, target := range targets {
		found, err := client.Find(all, target)
		if err != nil {
			return nil, lookup.TargetError(err, all, verdict.Failed)
		}
		wanted := slices.DeleteFunc(slices.Clone(found), func(t *client.Task) bool { return !applies(t) })
		if len(wanted) == 0 {
			return nil, exit.Failed("%w", refuse(target, found, o.labels))
		}
		for _, t := range wanted {
			if !slices.Contains(o.tasks, t) {
				o.tasks = append(o.tasks, t)
			}
		}
	}
	return o, nil
}

// carryOut acts on each task and reports what was done, until the first
// failure. Signal is empty for orders without one.
func (o *taskOrder) carryOut(what, signal string, act func(*client.Task) error) error {
	for _, t := range o.tasks {
		if err := act(t); err != nil {
			return err
		}
		d := answer.Done{Origin: originOf(t), Label: o.labels[t], Signal: signal}
		if d.Label == d.Alloc {
			d.Task = "" // it was the whole allocation
		}
		if err := answer.WriteDone(o.a.Answer(o.mode), what, []answer.Done{d}); err != nil {
			return err
		}
	}
	return nil
}
