package render

import (
	"time"

	"github.com/hashicorp/nomad/api"
)

// TaskState is the state of a task in which, as in Nomad's responses, a time
// that has not come is null.
type TaskState struct {
	*api.TaskState
	StartedAt, FinishedAt, LastRestart *time.Time
}

// Stub is an allocation in a list.
type Stub struct {
	*api.AllocationListStub
	TaskStates map[string]*TaskState
}

// Stubs returns the allocations in the form of the responses.
func Stubs(list []*api.AllocationListStub) []*Stub {
	stubs := make([]*Stub, len(list))
	for i, s := range list {
		stubs[i] = &Stub{s, taskStates(s.TaskStates)}
	}
	return stubs
}

// taskStates returns nil for nil.
func taskStates(states map[string]*api.TaskState) map[string]*TaskState {
	if states == nil {
		return nil
	}
	shown := make(map[string]*TaskState, len(states))
	for name, s := range states {
		shown[name] = &TaskState{s, orNull(s.StartedAt), orNull(s.FinishedAt), orNull(s.LastRestart)}
	}
	return shown
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
