// Package lifecycle decides in which order the tasks of an allocation run. It
// is pure: values in, values out; no clock, no goroutine, no file.
//
// The rules are those of Nomad's lifecycle block,
// https://developer.hashicorp.com/nomad/docs/job-specification/lifecycle.
package lifecycle

import "github.com/hashicorp/nomad/api"

// Stage is the part of an allocation's life that a task belongs to. The tasks
// of one stage start together, in no order.
type Stage uint8

// The six stages.
const (
	PrestartEphemeral Stage = iota
	PrestartSidecar
	Main
	PoststartEphemeral
	PoststartSidecar
	Poststop
	stages // the number of stages
)

var stageNames = [stages]string{
	"prestart", "prestart sidecar", "main", "poststart", "poststart sidecar", "poststop",
}

// String returns the stage in words.
func (s Stage) String() string { return stageNames[s] }

// Sidecar reports whether tasks of the stage live as long as the main tasks.
func (s Stage) Sidecar() bool { return s == PrestartSidecar || s == PoststartSidecar }

// Lasting reports whether tasks of the stage can be held: nothing waits for their
// end. Those of the other stages run once, and others wait for them.
func (s Stage) Lasting() bool { return s == Main || s.Sidecar() }

// StageOf returns the stage of a task with the given lifecycle block; nil is
// Main.
func StageOf(l *api.TaskLifecycle) Stage {
	if l == nil {
		return Main
	}
	switch l.Hook {
	case api.TaskLifecycleHookPrestart:
		if l.Sidecar {
			return PrestartSidecar
		}
		return PrestartEphemeral
	case api.TaskLifecycleHookPoststart:
		if l.Sidecar {
			return PoststartSidecar
		}
		return PoststartEphemeral
	case api.TaskLifecycleHookPoststop:
		return Poststop
	default:
		return Main
	}
}

// Phase is the state of a task.
type Phase uint8

// The phases, which are Nomad's task states.
const (
	Pending Phase = iota
	Running
	Dead
)

// String returns Nomad's name of the task state.
func (p Phase) String() string { return [...]string{"pending", "running", "dead"}[p] }

// Task is the state of a task that the rules use.
type Task struct {
	Name   string
	Stage  Stage
	Leader bool
	Phase  Phase
	Failed bool
	Held   bool // by a user: it may not start, and no other task waits for it to start
}

// Successful reports whether the task has ended successfully.
func (t Task) Successful() bool { return t.Phase == Dead && !t.Failed }
