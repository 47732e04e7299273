package fold

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// keptEvents is how many events are kept for each task, as in Nomad.
const keptEvents = 10

// Task is the state of a task.
type Task struct {
	Alloc *Alloc
	Name  string
	event.TaskState

	Started  time.Time // first start
	Running  time.Time // since when it is running; zero if it is not
	Finished time.Time // when it died
	Events   []Happened

	spec *api.Task // nil if the task is in no job
}

// Happened is a task event and its time.
type Happened struct {
	Time time.Time
	*api.TaskEvent
}

func (t *Task) happened(at time.Time, e *api.TaskEvent) {
	if len(t.Events) == keptEvents {
		t.Events = slices.Delete(t.Events, 0, 1)
	}
	t.Events = append(t.Events, Happened{at, e})
	if e.Type == api.TaskTerminated {
		if code, err := strconv.Atoi(e.Details["exit_code"]); err == nil {
			t.ExitCode = &code
		}
	}
}

func (t *Task) changed(at time.Time, s event.TaskState) {
	if s.State == "running" && (t.State != "running" || s.Restarts != t.Restarts) {
		t.Running = at
		if t.Started.IsZero() {
			t.Started = at
		}
	}
	if s.State == "dead" && t.State != "dead" {
		t.Finished = at
	}
	s.ExitCode, s.Failed = cmp.Or(s.ExitCode, t.ExitCode), s.Failed || t.Failed
	t.TaskState = s
	if t.Failed && t.Alloc.Failure == nil {
		t.Alloc.Failure = &Failure{Task: t, Time: at, Waiting: waiting(t.Alloc)}
	}
}

// Took returns how long the task has run, including restarts: from its first
// start to its end, or to now. It is 0 if the task never started.
func (t *Task) Took(now time.Time) time.Duration {
	switch {
	case t.Started.IsZero():
		return 0
	case t.Finished.IsZero():
		return now.Sub(t.Started)
	}
	return t.Finished.Sub(t.Started)
}

// Stopping reports whether the task was told to stop since its latest start.
func (t *Task) Stopping() bool {
	for _, e := range slices.Backward(t.Events) {
		switch e.Type {
		case api.TaskKilling, api.TaskRestartSignal, event.TaskPausing:
			return true
		case api.TaskStarted, event.TaskResuming:
			return false
		}
	}
	return false
}

// Stopped reports whether the task was killed before its work was done. A task
// that is killed because the tasks it accompanies have ended was not.
func (t *Task) Stopped() (killed bool) {
	for _, e := range slices.Backward(t.Events) {
		switch e.Type {
		case api.TaskKilling:
			killed = true
		case api.TaskLeaderDead, event.TaskMainDead, api.TaskSiblingFailed:
			return false
		case api.TaskStarted:
			return killed
		}
	}
	return killed
}

// Poststop reports whether the task runs only after all others have ended.
func (t *Task) Poststop() bool {
	hook, _ := t.lifecycle()
	return hook == api.TaskLifecycleHookPoststop
}
