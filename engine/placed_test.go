package engine_test

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// A client that comes right after the start of a run sees all its allocations.
func TestPlaced(t *testing.T) {
	t.Parallel()
	e := newEngine(t, t.TempDir())
	service := newJob("service", newTask("t", "run_for", "1h"))
	service.TaskGroups[0].Count = new(30)
	empty := newJob("service", newTask("t"))
	empty.ID, empty.TaskGroups[0].Count = new("empty"), new(0)
	periodic := newJob("batch", newTask("t"))
	periodic.ID, periodic.Periodic = new("periodic"), &api.PeriodicConfig{Enabled: new(true), Spec: new("0 0 1 1 *"), SpecType: new("cron")}
	for _, job := range []*api.Job{service, empty, periodic} {
		job.Canonicalize()
	}
	if err := e.Submit(service, empty, periodic); err != nil {
		t.Fatal(err)
	}
	placed := make(chan int)
	go func() {
		e.Placed()
		placed <- len(e.Allocs())
	}()
	select {
	case n := <-placed:
		if n != 30 {
			t.Errorf("there are %d allocations, not 30", n)
		}
	case <-time.After(time.Minute):
		t.Fatal("the allocations are not placed")
	}
	e.Placed() // also later
}
