package client

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Why a task cannot be used says where it is in its life.
func TestNotRunning(t *testing.T) {
	t.Parallel()
	alloc := &api.AllocationListStub{ID: "0123456789"}
	for want, task := range map[string]*Task{
		"allocation 01234567 has not started yet":           {Alloc: alloc, State: &api.TaskState{}},
		`task "web" has not started yet`:                    {Alloc: alloc, Name: "web", State: &api.TaskState{State: "pending"}},
		`task "web" does not run: it waits for its restart`: {Alloc: alloc, Name: "web", State: &api.TaskState{State: "pending", StartedAt: time.Now()}},
		`task "web" is dead`:                                {Alloc: alloc, Name: "web", State: &api.TaskState{State: "dead", StartedAt: time.Now()}},
	} {
		err := &NotRunningError{Target: "web", Matches: []*Task{task}, Labels: map[*Task]string{task: "web"}}
		if got := err.Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	two := &NotRunningError{Target: "web", Matches: []*Task{{}, {}}}
	if got := two.Error(); got != `none of the 2 tasks of "web" runs` {
		t.Errorf("of several: %q", got)
	}
}
