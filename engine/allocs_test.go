package engine

import (
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
)

// Readers see an allocation once an event has announced it.
func TestAllocationAppearsWithItsFirstEvent(t *testing.T) {
	t.Parallel()
	group, kind := "g", "batch"
	job := &api.Job{ID: new("job"), Type: &kind, TaskGroups: []*api.TaskGroup{{
		Name: &group, Tasks: []*api.Task{{Name: "t", Driver: "mock_driver"}},
	}}}
	job.Canonicalize()
	job.Version = new(uint64(0))
	e := New(Config{DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()}})
	r, err := open(e, job, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.watch.end()
	s := r.newSlot(group, 0, 0)
	alloc := runner.New(s.config(placement{ID: "a"}))
	e.allocs.track(alloc)
	hidden := func(when string) {
		if _, ok := e.Alloc("a"); ok || len(e.Allocs()) > 0 {
			t.Errorf("%s: found %v, listed %d", when, ok, len(e.Allocs()))
		}
	}
	hidden("before it has begun")
	observe := e.bus.Observe
	e.bus.Observe = func(ev event.Event) {
		if _, ok := ev.Body.(event.AllocStatus); ok {
			hidden("before its first event")
		}
		observe(ev)
	}
	alloc.Begin()
	if a, ok := e.Alloc("a"); !ok || a.Status != "pending" || len(e.Allocs()) != 1 || len(e.AllocsOf(alloc.Config().Alloc.Job)) != 1 {
		t.Errorf("after it: found %v, %q, listed %d", ok, a.Status, len(e.Allocs()))
	}
}
