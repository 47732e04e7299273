package fold

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
)

func TestTaskKeepsAsManyEventsAsNomad(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	r := New([]*api.Job{job(task("t", "", false))})
	for i := range 10_000 {
		at := begin.Add(time.Duration(i) * time.Second)
		r.Apply(event.Event{Time: at, Alloc: first, Task: "t", Body: event.TaskEvent{TaskEvent: event.Started()}})
		r.Apply(event.Event{Time: at, Alloc: first, Task: "t", Body: event.TaskState{State: "running", Restarts: uint64(i)}})
	}
	kept := r.Allocs[0].Tasks[0]
	if len(kept.Events) != keptEvents || cap(kept.Events) > 4*keptEvents {
		t.Errorf("%d events are kept, room for %d", len(kept.Events), cap(kept.Events))
	}
	if kept.Running != begin.Add(9_999*time.Second) || kept.Started != begin {
		t.Errorf("runs since %v, started at %v", kept.Running, kept.Started)
	}
}
