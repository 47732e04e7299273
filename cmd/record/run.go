package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/history"
	"taskrun/cmd/ui/view"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
)

// Run is the record of a run of a job: in a directory, also while it runs, or in an
// exported file.
type Run struct {
	Job     string        // its key
	ID      string        // unique among the runs of the job
	Dir     string        // its directory, or its file
	Live    bool          // it has not ended yet
	Kept    bool          // its job has ended, and an agent has it
	Summary *view.Summary // nil: it is live, or was killed
	// Err is why the summary cannot be read. Everything else may be readable.
	Err error

	files    files
	warnings []string
}

// Name returns the name of the run, as commands take it.
func (r *Run) Name() string { return event.JobName(r.Job) + "/" + r.ID }

// Status returns how the run ended, in the words of Nomad's allocations, or
// "running".
func (r *Run) Status() string {
	switch {
	case r.Summary != nil:
		return r.Summary.Status
	case r.Live:
		return api.AllocClientStatusRunning
	case r.Kept:
		return r.lastStatus()
	}
	return api.AllocClientStatusLost
}

// lastStatus returns how the last allocations of the run ended.
func (r *Run) lastStatus() string {
	state, err := r.State()
	if err != nil {
		return api.AllocClientStatusLost
	}
	last := map[string]*fold.Alloc{} // by name
	for _, a := range state.Allocs {
		last[a.Name] = a
	}
	status := api.AllocClientStatusComplete
	for _, a := range state.Allocs {
		switch {
		case last[a.Name] != a:
		case a.Status != api.AllocClientStatusComplete:
			return a.Status
		case a.Stopped():
			status = "stopped"
		}
	}
	return status
}

// Began returns when the run began; zero if that is not known.
func (r *Run) Began() time.Time {
	if at, ok := datadir.RunTime(r.ID); ok {
		return at
	}
	for e, err := range r.Events() {
		if err != nil {
			break
		}
		return e.Time
	}
	return time.Time{}
}

// Events returns the past events of the run, in order, without the output of
// tasks. It reads one after the other, and leaves out what is damaged, which
// Warnings describes afterwards. After an error there are no more.
func (r *Run) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		r.warnings = nil
		f, err := r.files.open(history.File)
		if errors.Is(err, fs.ErrNotExist) {
			r.warnings = []string{"there are no events"}
			return
		}
		if err != nil {
			yield(event.Event{}, fmt.Errorf("cannot read the events of run %s: %w", r.Name(), err))
			return
		}
		defer f.Close()
		from := history.New(f)
		defer func() { r.warnings = from.Warnings(!r.Live) }()
		for {
			e, err := from.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(event.Event{}, fmt.Errorf("cannot read the events of run %s: %w", r.Name(), err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Warnings describes what was damaged in the events that were read last, in
// sentences without an end.
func (r *Run) Warnings() []string { return r.warnings }

// Spec returns the job as it was submitted, with secrets redacted. It is nil if
// that was not kept.
func (r *Run) Spec() (*api.Job, error) {
	j := &api.Job{}
	err := readObject(r.files, specFile, j)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the job of run %s: %w", r.Name(), err)
	}
	if err := canonicalize(j); err != nil {
		return nil, fmt.Errorf("cannot read the job of run %s: %s: %w", r.Name(), specFile, err)
	}
	return j, nil
}

// canonicalize adds the defaults of a job that anyone may have written. Nomad's own
// function does not expect null in place of a group or a task.
func canonicalize(j *api.Job) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is not a job: a part of it is null")
		}
	}()
	j.Canonicalize()
	for _, g := range j.TaskGroups {
		for _, t := range g.Tasks {
			_ = t.Name // panics where there is no task
		}
	}
	return nil
}

// State returns the state of the run after its past events.
func (r *Run) State() (*fold.Run, error) {
	state := fold.New(nil)
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		state.Apply(e)
	}
	return state, nil
}

// Tasks returns the tasks of the run as a server would list them.
func (r *Run) Tasks() (tasks []*client.Task, err error) {
	state, err := r.State()
	if err != nil {
		return nil, err
	}
	for _, a := range state.Allocs {
		namespace, id := event.SplitJobKey(a.Job)
		stub := &api.AllocationListStub{
			ID: a.ID, Name: a.Name, JobID: id, TaskGroup: a.Group, Namespace: namespace,
			ClientStatus: a.Status, ClientDescription: a.Description,
		}
		if r.Summary == nil && !r.Live && a.Status != api.AllocClientStatusComplete && a.Status != api.AllocClientStatusFailed {
			stub.ClientStatus, stub.ClientDescription = api.AllocClientStatusLost, "the run was killed"
		}
		if a.Replacement != nil {
			stub.NextAllocation = a.Replacement.ID
		}
		for _, t := range a.Tasks {
			ended := "dead"
			if r.Live {
				ended = t.State
			}
			state := &api.TaskState{State: ended, Failed: t.Failed, Restarts: t.Restarts, StartedAt: t.Started, FinishedAt: t.Finished}
			for _, e := range t.Events {
				state.Events = append(state.Events, e.TaskEvent)
			}
			tasks = append(tasks, client.Kept(stub, t.Name, state, func(part client.Log) (client.Output, error) {
				return r.Output(a.ID, t.Name, part)
			}))
		}
	}
	return tasks, nil
}

// Output opens a part of the output of a task, which may be empty.
func (r *Run) Output(alloc, task string, part client.Log) (client.Output, error) {
	return r.files.output(alloc, task, part)
}

// String describes in one line how the run ended.
func (r *Run) String() string {
	if r.Summary == nil {
		return fmt.Sprintf("job %s is not running: its last run was killed", event.JobName(r.Job))
	}
	s := r.Summary
	text := fmt.Sprintf("job %s is not running: %s %v ago after %v, exit code %d", event.JobName(r.Job), s.Status,
		time.Since(s.Ended()).Round(time.Second), (time.Duration(s.DurationMS) * time.Millisecond).Round(time.Millisecond), s.ExitCode)
	if s.Cause != "" {
		text += "; " + s.Cause
	}
	return text
}

// File opens another file that is kept of the run, such as EnvironmentFile. A missing
// one is fs.ErrNotExist. Limit how much you read: anyone may have written it.
func (r *Run) File(name string) (io.ReadCloser, error) { return r.files.open(name) }

// Close closes the file of the run.
func (r *Run) Close() error { return r.files.Close() }

// Matches reports whether a name is that of the run: JOB/ID, where the ID may
// also be its beginning or its last part, or such an ID alone.
func (r *Run) Matches(name string) bool {
	id := strings.TrimPrefix(name, event.JobName(r.Job)+"/")
	_, last, _ := strings.Cut(r.ID, "-")
	return id != "" && (strings.HasPrefix(r.ID, id) || id == last)
}
