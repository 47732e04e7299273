package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/prose"
	"taskrun/cmd/record"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// keptRuns is how many ended runs of a job are kept, unless all are removed.
const keptRuns = 5

type cleanOptions struct {
	mode         ui.Mode
	all, volumes bool
	yes          bool // remove volumes without asking
	dataDir      string
}

func newCleanCommand(a *app) *cobra.Command {
	opts := cleanOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "clean [RUN...]",
		Short: "Remove leftovers of ended runs",
		Long: `Remove leftovers of killed runs, including their containers if a Docker engine
answers, and all but the last five runs of each job. Report how much space that
freed. Running jobs are never touched. With RUNs, remove only these, whatever
their age: a job stands for all its ended runs, others are named as "taskrun
runs" lists them.

Volumes hold data of jobs: --volumes asks before it removes them and, without a
terminal, requires --yes.

Exit codes:
  0    success, even if there was nothing to remove
  1    the answer was no, or a RUN is unknown or live: nothing was removed
  2    the call is wrong
  125  something could not be removed`,
		Example: `  taskrun clean
  taskrun clean --all --volumes --yes
  taskrun clean web/20260102T030405.006Z-0a1b`,
		Args:              arguments(0, anyNumber),
		ValidArgsFunction: completeKept(a, &opts.dataDir, ended),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cleanRuns(cmd.Context(), a, args, opts)
			}
			return runClean(cmd.Context(), a, opts)
		},
	}
	flags := cmd.Flags()
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	flags.BoolVarP(&opts.all, "all", "a", false, "remove every run that has ended")
	flags.BoolVar(&opts.volumes, "volumes", false, "with --all: also remove volumes that have no folder of their own, if nothing is running")
	flags.BoolVar(&opts.yes, "yes", false, "with --volumes: remove them without a question")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

func runClean(ctx context.Context, a *app, opts cleanOptions) error {
	if opts.volumes && !opts.all {
		return exit.Usage("cannot remove volumes alone").WithHint("add --all")
	}
	dataDir, err := a.runs.DataDir(opts.dataDir)
	if err != nil {
		return err
	}
	if opts.volumes && !opts.yes {
		if err := confirm(a, fmt.Sprintf("remove the volumes in %s, with all their data?", dataDir), "--yes"); err != nil {
			return err
		}
	}
	jobs, err := datadir.Jobs(dataDir)
	if err != nil {
		return err
	}
	sockets, err := a.runs.Sockets()
	if err == nil {
		_, err = httpapi.Find(sockets) // Find also removes the sockets of dead engines
	}
	errs := []error{err}
	left := &leftovers{}
	if len(jobs) > 0 {
		left, err = findLeftovers(ctx, a, dataDir)
		errs = append(errs, err)
	}
	before, live, keep := datadir.Used(dataDir), 0, keptRuns
	if opts.all {
		keep = 0
	}
	for _, job := range jobs {
		err := datadir.Clean(dataDir, job, keep, func() error { return left.remove(ctx, job, "") })
		if errors.Is(err, datadir.ErrInUse) {
			live++
			continue
		}
		errs = append(errs, err)
	}
	switch {
	case opts.volumes && live > 0:
		errs = append(errs, fmt.Errorf("volumes are not removed: %s may use them", prose.Count(live, "running job")))
	case opts.volumes:
		errs = append(errs, datadir.CleanVolumes(dataDir))
	}
	freed := answer.Freed{Bytes: max(0, before-datadir.Used(dataDir)), Containers: left.removed, Live: live}
	return errors.Join(append(errs, answer.WriteFreed(a.Answer(opts.mode), freed))...)
}

func cleanRuns(ctx context.Context, a *app, names []string, opts cleanOptions) error {
	if opts.all || opts.volumes {
		return exit.Usage("cannot combine runs with --all or --volumes").WithHint("leave out the runs or the flag")
	}
	dataDir, err := a.runs.DataDir(opts.dataDir)
	if err != nil {
		return err
	}
	all, listing := a.runs.AllRuns(ctx, dataDir, "")
	chosen, err := runsToClean(all, names)
	if err != nil {
		return errors.Join(err, listing)
	}
	left, err := findLeftovers(ctx, a, dataDir)
	errs := []error{err}
	before := datadir.Used(dataDir)
	for _, r := range chosen {
		err := datadir.CleanRun(dataDir, r.Job, r.ID, func() error { return left.remove(ctx, r.Job, r.Dir) })
		switch {
		case errors.Is(err, datadir.ErrInUse) && r.Kept:
			name := event.JobName(r.Job)
			err = exit.Failed("the agent still has job %q, which has ended", name).WithHint("to forget it: taskrun stop --purge %s", name)
		case errors.Is(err, datadir.ErrInUse):
			err = exit.Failed("run %s is live: %w", r.Name(), err).WithHint("stop it with: taskrun stop %s", event.JobName(r.Job))
		}
		errs = append(errs, err)
	}
	freed := answer.Freed{Bytes: max(0, before-datadir.Used(dataDir)), Containers: left.removed}
	return errors.Join(append(errs, answer.WriteFreed(a.Answer(opts.mode), freed))...)
}

// runsToClean returns the runs that names match; of a job all that have ended.
func runsToClean(all []*record.Run, names []string) (chosen []*record.Run, err error) {
	for _, name := range names {
		r, err := lookup.PickRun(all, name)
		if err != nil {
			return nil, err
		}
		matching := []*record.Run{r}
		if event.JobName(r.Job) == name {
			matching = slices.DeleteFunc(slices.Clone(all), func(r *record.Run) bool { return event.JobName(r.Job) != name })
			if len(matching) > 1 {
				matching = slices.DeleteFunc(matching, func(r *record.Run) bool { return r.Live })
			}
		}
		for _, r := range matching {
			if r.Live {
				return nil, exit.Failed("run %s is live", r.Name()).WithHint("stop it with: taskrun stop %s", event.JobName(r.Job))
			}
			if !slices.Contains(chosen, r) {
				chosen = append(chosen, r)
			}
		}
	}
	return chosen, nil
}

// ended returns the names of the runs that are not live.
func ended(runs []*record.Run) []string {
	return namesOf(slices.DeleteFunc(slices.Clone(runs), func(r *record.Run) bool { return r.Live }))
}

// confirm asks the user a question on the terminal, and returns an error unless
// the answer is yes. Without a terminal, only the flag confirms.
func confirm(a *app, question, flag string) error {
	if !a.Streams.InTerm || !a.Streams.ErrTerm {
		return exit.Usage("cannot ask whether to %s", strings.TrimSuffix(question, "?")).WithHint("to answer yes add %s", flag)
	}
	fmt.Fprintf(a.Streams.Err, "%s (yes/no) ", visible.String(question))
	answer, err := a.Streams.ReadLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	if answer := strings.ToLower(answer); answer != "yes" && answer != "y" {
		return exit.Failed("nothing was removed")
	}
	return nil
}
