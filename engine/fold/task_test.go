package fold

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
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

// The time a task took is from its first start to its end, restarts included.
func TestTook(t *testing.T) {
	t.Parallel()
	m := New(nil)
	begin := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	say := func(after time.Duration, state event.TaskState, want time.Duration) *Task {
		t.Helper()
		at := begin.Add(after)
		m.Apply(event.Event{Time: at, Alloc: first, Task: "t", Body: state})
		of := m.Allocs[0].Tasks[0]
		if got := of.Took(at.Add(time.Second)); got != want {
			t.Errorf("after %v it took %v, want %v", after, got, want)
		}
		return of
	}
	say(0, event.TaskState{State: "pending"}, 0)
	say(2*time.Second, event.TaskState{State: "running"}, time.Second)
	if of := say(3*time.Second, event.TaskState{State: "running"}, 2*time.Second); !of.Running.Equal(begin.Add(2 * time.Second)) {
		t.Errorf("said twice to run, it runs since %v", of.Running)
	}
	if of := say(4*time.Second, event.TaskState{State: "running", Restarts: 1}, 3*time.Second); !of.Running.Equal(begin.Add(4 * time.Second)) {
		t.Errorf("restarted, it runs since %v", of.Running)
	}
	say(5*time.Second, event.TaskState{State: "dead"}, 3*time.Second)
	say(9*time.Second, event.TaskState{State: "dead", Failed: true}, 3*time.Second)
	m.Apply(event.Event{Time: begin.Add(time.Minute), Body: event.Notice{}})
	if !m.Latest.Equal(begin.Add(time.Minute)) || len(m.Allocs) != 1 {
		t.Errorf("the latest event was at %v, of %d allocations", m.Latest, len(m.Allocs))
	}
}
