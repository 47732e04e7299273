package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

// endedRun is the latest run of a job, of which nothing runs any more.
type endedRun struct {
	job, dir string
	events   []event.Event
	summary  *view.Summary // nil when the run was killed
}

// endedRuns returns the latest run of each job that does not run, or of one job
// alone.
func endedRuns(ctx context.Context, a *app, dataDir, job string) (ended []*endedRun, err error) {
	jobs := []string{job}
	if job == "" {
		if jobs, err = allocdir.Jobs(dataDir); err != nil {
			return nil, err
		}
	}
	live, err := a.liveRuns(ctx)
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		runs, err := allocdir.Runs(dataDir, job)
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			continue
		}
		dir := allocdir.RunDir(dataDir, job, runs[len(runs)-1])
		if slices.ContainsFunc(live, func(d *source.Directory) bool { return d.Self.Runs[job] == dir }) {
			continue
		}
		r := &endedRun{job: job, dir: dir}
		if r.summary, err = readSummary(dir); err != nil {
			return nil, err
		}
		if r.events, err = source.History(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		ended = append(ended, r)
	}
	return ended, nil
}

// latestOf is the run that began last, nil for none.
func latestOf(runs []*endedRun) (latest *endedRun) {
	for _, r := range runs {
		if latest == nil || filepath.Base(r.dir) > filepath.Base(latest.dir) {
			latest = r
		}
	}
	return latest
}

// tasks are those of the run as a server would list them.
func (r *endedRun) tasks() (tasks []*client.Task) {
	for _, a := range fold.New(nil, r.events...).Allocs {
		stub := &api.AllocationListStub{
			ID: a.ID, Name: a.Name, JobID: a.Job, TaskGroup: a.Group, Namespace: api.DefaultNamespace,
			ClientStatus: a.Status, ClientDescription: a.Description,
		}
		if r.summary == nil && a.Status != api.AllocClientStatusComplete && a.Status != api.AllocClientStatusFailed {
			stub.ClientStatus, stub.ClientDescription = api.AllocClientStatusLost, "the run was killed"
		}
		if a.Replacement != nil {
			stub.NextAllocation = a.Replacement.ID
		}
		for _, t := range a.Tasks {
			state := &api.TaskState{State: "dead", Failed: t.Failed, Restarts: t.Restarts, StartedAt: t.Started, FinishedAt: t.Finished}
			for _, e := range t.Events {
				state.Events = append(state.Events, e.TaskEvent)
			}
			logs := allocdir.SharedOf(filepath.Join(r.dir, "alloc", a.ID)).Logs
			tasks = append(tasks, client.Kept(stub, t.Name, state, func(stream string) (io.ReadCloser, error) {
				s := event.Stdout
				if stream == event.Stderr.String() {
					s = event.Stderr
				}
				return tasklog.OpenReader(logs, t.Name, s, 0, io.SeekStart)
			}))
		}
	}
	return tasks
}

// words tells in a line how the run ended.
func (r *endedRun) words(now time.Time) string {
	if r.summary == nil {
		return fmt.Sprintf("job %s does not run: its last run was killed", r.job)
	}
	s := r.summary
	text := fmt.Sprintf("job %s does not run: %s %v ago after %v, exit code %d", r.job, s.Status,
		now.Sub(s.Ended()).Round(time.Second), (time.Duration(s.DurationMS) * time.Millisecond).Round(time.Millisecond), s.ExitCode)
	if s.Cause != "" {
		text += "; " + s.Cause
	}
	return text
}

// endedTasks returns the tasks that targets name among those of runs that have
// ended, with these runs. Without targets they are those of the latest run.
func endedTasks(ctx context.Context, a *app, dataDir, job string, targets []string) (all []*client.Task, selected *client.Selection, runs []*endedRun, err error) {
	dataDir, err = a.dataDir(dataDir)
	if err != nil {
		return nil, nil, nil, err
	}
	if runs, err = endedRuns(ctx, a, dataDir, job); err != nil {
		return nil, nil, nil, err
	}
	if len(targets) == 0 {
		latest := latestOf(runs)
		runs = slices.DeleteFunc(runs, func(r *endedRun) bool { return r != latest })
	}
	for _, r := range runs {
		all = append(all, r.tasks()...)
	}
	selected, err = client.Select(all, targets)
	if err != nil {
		return nil, nil, nil, err
	}
	of := selected.Of(all)
	runs = slices.DeleteFunc(runs, func(r *endedRun) bool {
		return !slices.ContainsFunc(of, func(t *client.Task) bool { return t.Alloc.JobID == r.job })
	})
	return all, selected, runs, nil
}
