package engine

import (
	"sync/atomic"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// A reader of the allocations sees a new one only together with its first events.
func TestAllocationAndItsFirstEventAppearAtOnce(t *testing.T) {
	t.Parallel()
	group, kind := "g", "batch"
	job := &api.Job{ID: new("job"), Type: &kind, TaskGroups: []*api.TaskGroup{{
		Name: &group, Tasks: []*api.Task{{Name: "t", Driver: "mock_driver"}},
	}}}
	job.Canonicalize()
	e := New(Config{
		DataDir: t.TempDir(), Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
		Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
	})
	observe := e.bus.Observe
	var first atomic.Bool
	e.bus.Observe = func(ev event.Event) {
		observe(ev)
		if _, ok := ev.Body.(event.AllocStatus); ok && first.CompareAndSwap(false, true) && e.allocs.mu.TryLock() {
			e.allocs.mu.Unlock()
			t.Error("the allocations can be read before the new one is among them, or after it without an event")
		}
	}
	if err := e.Submit(job); err != nil {
		t.Fatal(err)
	}
	<-e.Done()
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !first.Load() || len(e.Allocs()) != 1 {
		t.Errorf("a status of an allocation was published: %v; %d allocations", first.Load(), len(e.Allocs()))
	}
}
