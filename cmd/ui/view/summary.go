package view

import (
	"time"

	"taskrun/cmd/outcome"
	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Summary is how the run of a job ended. It is the last object of --output
// json, and is stored with the run.
type Summary struct {
	ui.Head
	Job        string `json:"job"`
	Status     string `json:"status"` // complete, failed or stopped
	ExitCode   int    `json:"exit_code"`
	DurationMS int64  `json:"duration_ms"`
	// Reason says in one line why the run ended as it did.
	Reason       string           `json:"reason"`
	FirstFailure *outcome.Failure `json:"first_failure,omitempty"`
	Warnings     int              `json:"warnings"` // about the job files
	Allocs       []AllocSummary   `json:"allocs"`
	// Cause explains why the run was stopped, and User says that the user
	// stopped it. They are stored for later commands.
	Cause string `json:"cause,omitempty"`
	User  bool   `json:"stopped_by_user,omitempty"`
}

// AllocSummary is how an allocation ended.
type AllocSummary struct {
	Alloc   string                     `json:"alloc"`
	AllocID string                     `json:"alloc_id"`
	Status  string                     `json:"status"`
	Tasks   map[string]event.TaskState `json:"tasks"`
}

// Ended is when the run ended.
func (s *Summary) Ended() time.Time { return s.Time }

// Summarize returns the summary of a job in a run that started at begin, of whose
// job files there were warnings.
func Summarize(run *fold.Run, job string, begin time.Time, r Result, warnings int, output outcome.Output) Summary {
	s := Summary{
		Head: ui.Head{Type: "summary", Time: r.Time.UTC()}, Job: job, Status: run.Status(job, r.Cause != ""),
		ExitCode: r.ExitCode, DurationMS: r.Time.Sub(begin).Milliseconds(), Allocs: []AllocSummary{},
		Reason: outcome.Reason(run, job, r), FirstFailure: outcome.First(run, job, r, output), Warnings: warnings,
	}
	for _, a := range run.Allocs {
		if !a.Of(job) {
			continue
		}
		tasks := make(map[string]event.TaskState, len(a.Tasks))
		for _, t := range a.Tasks {
			tasks[t.Name] = t.TaskState
		}
		s.Allocs = append(s.Allocs, AllocSummary{Alloc: a.Name, AllocID: a.ID, Status: a.Status, Tasks: tasks})
	}
	return s
}
