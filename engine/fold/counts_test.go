package fold

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// A task counts by its current state; tasks of replaced allocations do not count.
func TestCounts(t *testing.T) {
	t.Parallel()
	r := New([]*api.Job{job(task("a", "", false), task("b", "", false), task("last", "poststop", false))})
	check := func(name string, want Counts) {
		t.Helper()
		if diff := cmp.Diff(want, r.Counts()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	is := func(task string, state event.TaskState) {
		r.Apply(event.Event{Alloc: first, Task: task, Body: state})
	}
	check("nothing", Counts{})
	r.Apply(event.Event{Alloc: first, Body: event.AllocStatus{Status: "pending", Retry: -1}})
	check("placed", Counts{Starting: 2})
	is("a", event.TaskState{State: "running"})
	is("b", event.TaskState{State: "dead"})
	check("under way", Counts{Running: 1, Ended: 1})
	is("a", event.TaskState{State: "dead", Failed: true})
	is("last", event.TaskState{State: "running"})
	check("at the end", Counts{Running: 1, Ended: 1, Failed: 1})
	r.Apply(event.Event{Alloc: first, Body: event.AllocStatus{Status: "failed"}})
	second := &event.Alloc{Job: first.Job, Group: first.Group, Name: first.Name, ID: "second"}
	r.Apply(event.Event{Alloc: second, Body: event.AllocStatus{Status: "pending", Replaces: first.ID, Retry: -1}})
	check("replaced", Counts{Starting: 2})
}
