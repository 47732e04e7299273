package report

import (
	"fmt"
	"strings"
	"time"

	"taskrun/cmd/outcome"
	"taskrun/cmd/prose"
	"taskrun/engine/fold"
	"taskrun/jobspec"
)

// Run is how a run ended. All reports say the same of it.
type Run struct {
	Facts
	Verdict string // one line
	Jobs    []Job
	First   *Failure // the first failure; nil: nothing failed
}

// Facts are the inputs of a report besides the state of the run.
type Facts struct {
	Command string // such as "taskrun up"
	Version string
	Host    string
	Began   time.Time
	Result  outcome.Result
	Output  outcome.Output
	// Diagnostics are those of the job files.
	Diagnostics jobspec.Diagnostics
	// Place returns the place of a task's block in the job files, or of the job's
	// block if the task is empty. It returns a zero range if the files have no such
	// block.
	Place func(job, group, task string) jobspec.Range
}

// Job is how the run of a job ended.
type Job struct {
	ID, Status, Reason string
	Tasks              []Task
	First              *Failure
}

// Task is how a task of an allocation ended.
type Task struct {
	Alloc, AllocID, Name, State string
	ExitCode                    *int
	Restarts                    uint64
	Took                        time.Duration
	Replaced                    int      // how many allocations its own one has replaced
	Failure                     *Failure // nil: it did not fail
	Skipped                     string   // why it has not run; empty: it has
}

// Failure is a failure and the place of its task, or job, in the job file.
type Failure struct {
	*outcome.Failure
	At jobspec.Range
}

// Of returns the report of a run. It leaves out allocations that were replaced.
func Of(run *fold.Run, f Facts) *Run {
	r := &Run{Facts: f, Verdict: outcome.Verdict(run, f.Began, f.Result), First: f.failure(outcome.First(run, "", f.Result, f.Output))}
	waits := map[*fold.Task]fold.Wait{}
	for _, a := range run.Allocs {
		if a.Failure == nil {
			continue
		}
		for _, w := range a.Failure.Waiting {
			waits[w.Task] = w
		}
	}
	final := run.Final()
	for _, j := range run.Jobs {
		job := Job{
			ID: *j.ID, Status: run.Status(*j.ID, f.Result.Cause != ""), Reason: outcome.Reason(run, *j.ID, f.Result),
			First: f.failure(outcome.First(run, *j.ID, f.Result, f.Output)),
		}
		for _, a := range final {
			if !a.Of(*j.ID) {
				continue
			}
			for _, t := range a.Tasks {
				job.Tasks = append(job.Tasks, f.task(run, t, waits))
			}
		}
		r.Jobs = append(r.Jobs, job)
	}
	return r
}

func (f *Facts) task(run *fold.Run, t *fold.Task, waits map[*fold.Task]fold.Wait) Task {
	task := Task{
		Alloc: t.Alloc.Name, AllocID: t.Alloc.ID, Name: t.Name, State: t.State, ExitCode: t.ExitCode, Restarts: t.Restarts,
		Took: t.Took(run.Latest), Replaced: t.Alloc.Replacements(),
	}
	switch {
	case t.Failed:
		task.Failure = f.failure(outcome.Of(t, f.Output))
	case t.Started.IsZero():
		task.Skipped = "it has not run"
		if w, ok := waits[t]; ok {
			task.Skipped = "it " + outcome.Waited(w)
		}
	}
	return task
}

func (f *Facts) failure(what *outcome.Failure) *Failure {
	if what == nil {
		return nil
	}
	return &Failure{what, f.Place(what.Job, what.Group, what.Task)}
}

func (r *Run) failed() bool {
	for _, j := range r.Jobs {
		for _, t := range j.Tasks {
			if t.Failure != nil {
				return true
			}
		}
	}
	return false
}

// details returns what helps to understand the failure, besides its title.
func (f *Failure) details() string {
	var parts []string
	if !f.At.IsZero() {
		parts = append(parts, fmt.Sprintf("at %s:%d", f.At.File, f.At.Start.Line))
	}
	if c := f.Checked; c != nil {
		if f.Task != "" { // otherwise the title says it
			parts = append(parts, prose.OneLine(c.String()))
		}
		if c.Target != "" {
			parts = append(parts, "target: "+prose.OneLine(c.Target))
		}
		if c.Output != "" && f.Task != "" {
			parts = append(parts, "output of the check: "+prose.OneLine(c.Output))
		}
	}
	switch {
	case f.LastOutput != "":
		parts = append(parts, "last output:\n"+f.LastOutput)
	case f.Task != "":
		parts = append(parts, "it wrote nothing")
	}
	if f.Hint != "" {
		parts = append(parts, f.Hint)
	}
	return strings.Join(parts, "\n")
}
