package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Ended is the latest run of a job that is not running.
type Ended struct {
	Job, Dir string
	Events   []event.Event
	Summary  *view.Summary // nil: the run was killed
}

// List returns the latest run of each job in a data directory, or of one job.
// It omits live runs.
func List(dataDir, job string, live []*source.Directory) (ended []*Ended, err error) {
	jobs := []string{job}
	if job == "" {
		if jobs, err = allocdir.Jobs(dataDir); err != nil {
			return nil, err
		}
	}
	for _, job := range jobs {
		runs, err := allocdir.Runs(dataDir, job)
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			continue
		}
		r := &Ended{Job: job, Dir: allocdir.RunDir(dataDir, job, runs[len(runs)-1])}
		if slices.ContainsFunc(live, func(d *source.Directory) bool { return d.Self.Runs[job] == r.Dir }) {
			continue
		}
		if r.Summary, err = Read(r.Dir); err != nil {
			return nil, err
		}
		if r.Events, err = source.History(r.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		ended = append(ended, r)
	}
	return ended, nil
}

// NewestFirst returns runs with the latest start first.
func NewestFirst(runs []*Ended) []*Ended {
	return slices.SortedFunc(slices.Values(runs), func(a, b *Ended) int {
		return strings.Compare(filepath.Base(b.Dir), filepath.Base(a.Dir))
	})
}

// Status returns how the run ended, in the words of Nomad's allocations.
func (r *Ended) Status() string {
	if r.Summary == nil {
		return api.AllocClientStatusLost
	}
	return r.Summary.Status
}

// Tasks returns the tasks of the run as a server would list them.
func (r *Ended) Tasks() (tasks []*client.Task) {
	for _, a := range fold.New(nil, r.Events...).Allocs {
		stub := &api.AllocationListStub{
			ID: a.ID, Name: a.Name, JobID: a.Job, TaskGroup: a.Group, Namespace: api.DefaultNamespace,
			ClientStatus: a.Status, ClientDescription: a.Description,
		}
		if r.Summary == nil && a.Status != api.AllocClientStatusComplete && a.Status != api.AllocClientStatusFailed {
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
			dir := filepath.Join(r.Dir, "alloc", a.ID)
			tasks = append(tasks, client.Kept(stub, t.Name, state, func(l client.Log) (client.Output, error) {
				return tasklog.Part{
					Logs: allocdir.SharedOf(dir).Logs, Times: allocdir.TimesOf(dir),
					Task: t.Name, Stream: l.Stream, Tail: l.Tail, Since: l.Since,
				}.Open()
			}))
		}
	}
	return tasks
}

// String describes in one line how the run ended.
func (r *Ended) String() string {
	if r.Summary == nil {
		return fmt.Sprintf("job %s does not run: its last run was killed", r.Job)
	}
	s := r.Summary
	text := fmt.Sprintf("job %s does not run: %s %v ago after %v, exit code %d", r.Job, s.Status,
		time.Since(s.Ended()).Round(time.Second), (time.Duration(s.DurationMS) * time.Millisecond).Round(time.Millisecond), s.ExitCode)
	if s.Cause != "" {
		text += "; " + s.Cause
	}
	return text
}
