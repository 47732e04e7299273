package lookup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// FindRun returns the run of a job or, without one, the only run. It looks at the
// runs of a data directory or, without one, at all of this user. The name of a job
// outside of the default namespace may be its ID, if no other job is meant.
func (f *Finder) FindRun(ctx context.Context, job, dataDir string) (*source.Directory, error) {
	runs, err := f.LiveRuns(ctx, dataDir)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r *source.Directory) bool { return r.Self.Agent && len(r.IDs) == 0 })
	var names, ended []string
	var found []*source.Directory
	for _, r := range runs {
		names = append(names, JobNames(r.IDs)...)
		ended = append(ended, JobNames(slices.Sorted(maps.Keys(r.EndedJobs)))...)
		if job == "" || r.Key(job) != "" {
			found = append(found, r)
		}
	}
	slices.Sort(names)
	running := "running jobs: " + strings.Join(names, ", ")
	switch exact := func(r *source.Directory) bool { return event.JobName(r.Key(job)) == job }; {
	case slices.ContainsFunc(found, exact):
		found = slices.DeleteFunc(found, func(r *source.Directory) bool { return !exact(r) })
	case slices.Contains(ended, job):
		found = nil // the jobs with this ID in other namespaces are others
	case slices.ContainsFunc(found, func(r *source.Directory) bool { return len(r.Keys(job)) > 1 }):
		return nil, exit.Usage("job %q is ambiguous", job).WithHint("%s", running)
	}
	switch {
	case len(runs) == 0:
		return nil, NoRun(verdict.Failed, dataDir)
	case len(found) == 0:
		return nil, exit.Failed("job %q is not running %s", job, PlaceOf(dataDir)).WithHint("%s", running)
	case len(found) > 1 && job == "":
		return nil, exit.Usage("several runs match: name a job").WithHint("%s", running)
	case len(found) > 1:
		return nil, exit.Usage("job %q is running in several data directories", job).WithHint("choose one with --data-dir")
	}
	return found[0], nil
}

// FindLaunched returns the run in which another job has launched the one with a
// name, and the key of that, or "" if no run has it.
func (f *Finder) FindLaunched(ctx context.Context, name, dataDir string) (*source.Directory, string) {
	if !strings.Contains(name, "/") {
		return nil, ""
	}
	runs, _ := f.LiveRuns(ctx, dataDir) // FindRun has reported the error
	for _, d := range runs {
		jobs, _ := client.ListJobs(ctx, []*client.Server{d.Server})
		for _, j := range jobs {
			if j.ParentID != "" && j.Status != "dead" && event.NamesJob(name, j.Key()) {
				return d, j.Key()
			}
		}
	}
	return nil, ""
}

// OneOfAgent limits the run of an agent to the job that a user names: the jobs of an
// agent have nothing to do with each other.
func OneOfAgent(d *source.Directory, name string) error {
	switch {
	case !d.Self.Agent:
	case name != "":
		d.Narrow(d.Key(name))
	case len(d.IDs) > 1:
		return exit.Usage("several jobs are running: name one").WithHint("running jobs: %s", strings.Join(JobNames(d.IDs), ", "))
	default:
		d.Narrow(d.IDs[0])
	}
	return nil
}

// AllRuns returns the runs of a data directory, or those of a job. The error is
// about those that cannot be listed, beside those that can.
func (f *Finder) AllRuns(ctx context.Context, dataDir, job string) ([]*record.Run, error) {
	dataDir, err := f.DataDir(dataDir)
	if err != nil {
		return nil, err
	}
	live, err := f.LiveRuns(ctx, dataDir)
	runs, failure := record.List(dataDir, job, live)
	if err = errors.Join(err, failure); errors.Is(err, fs.ErrPermission) {
		err = (&exit.Error{Code: verdict.Internal, Err: err}).WithHint("it belongs to another user: choose another data directory with --data-dir")
	}
	return runs, err
}

// RunsOf returns the runs that may have kept something of a task of this machine, the
// newest first: that of its engine, or those of its job. The error is about those that
// cannot be listed, beside those that can.
func (f *Finder) RunsOf(ctx context.Context, t *client.Task, dataDir string) ([]*record.Run, error) {
	job := t.JobKey()
	if t.Server.Socket == "" {
		runs, err := f.AllRuns(ctx, dataDir, job)
		return record.NewestFirst(runs), err
	}
	self, err := t.Server.Self(ctx)
	if err != nil || self.Runs[job] == "" {
		return nil, err
	}
	return []*record.Run{record.At(self.Runs[job], job)}, nil
}

// EndedRuns returns the latest run of each job that is not running, or of the
// given job only.
func (f *Finder) EndedRuns(ctx context.Context, dataDir, job string) ([]*record.Run, error) {
	runs, err := f.AllRuns(ctx, dataDir, job)
	return record.Latest(runs), err
}

// EndedTasks returns the tasks of the newest ended run in which all targets match,
// or those of all ended runs if there is no such run; the selection that the targets
// match, and the runs with selected tasks.
func (f *Finder) EndedTasks(ctx context.Context, dataDir, job string, targets []string) (all []*client.Task, selected *client.Selection, runs []*record.Run, err error) {
	if runs, err = f.EndedRuns(ctx, dataDir, job); err != nil {
		return nil, nil, nil, err
	}
	for _, r := range record.NewestFirst(runs) {
		tasks, err := r.Tasks()
		if err != nil {
			return nil, nil, nil, err
		}
		if selected, err = client.Select(tasks, targets); err == nil {
			return tasks, selected, []*record.Run{r}, nil
		}
		all = append(all, tasks...)
	}
	if selected, err = client.Select(all, targets); err != nil {
		return nil, nil, nil, err
	}
	of := selected.Of(all)
	runs = slices.DeleteFunc(runs, func(r *record.Run) bool {
		return !slices.ContainsFunc(of, func(t *client.Task) bool { return t.JobKey() == r.Job })
	})
	return all, selected, runs, nil
}

// TaskAtRest returns the one task that a target matches and that is not running, in
// a live run or in the latest one, with labels and the error that says so. If no
// task matches, the error says why.
func (f *Finder) TaskAtRest(ctx context.Context, all []*client.Task, target string, c Connection, why error) (*client.Task, map[*client.Task]string, error) {
	found, err := client.Find(all, target)
	if err != nil && c.Cluster.Address == "" {
		ended, among, _, failure := f.EndedTasks(ctx, c.DataDir, c.Job, []string{target})
		if failure == nil {
			all, found = ended, among.Of(ended)
		}
	}
	if current := slices.DeleteFunc(slices.Clone(found), (*client.Task).Replaced); len(current) > 0 {
		found = current
	}
	labels := client.Labels(all)
	switch {
	case len(found) == 0 || slices.ContainsFunc(found, (*client.Task).Running):
		return nil, nil, why
	case len(found) > 1:
		return nil, nil, client.NotRunning(target, found, labels)
	}
	return found[0], labels, client.NotRunning(target, found, labels)
}

// OpenAtRest opens the directory of a task's allocation on this machine.
func (f *Finder) OpenAtRest(ctx context.Context, t *client.Task, dataDir string) (*os.Root, error) {
	runs, err := f.RunsOf(ctx, t, dataDir)
	for _, r := range runs {
		root, openErr := os.OpenRoot(filepath.Join(r.Dir, "alloc", t.Alloc.ID))
		if openErr == nil {
			return root, nil
		}
		if !errors.Is(openErr, fs.ErrNotExist) {
			err = openErr
		}
	}
	return nil, cmp.Or(err, errors.New("the directory of its allocation was removed"))
}
