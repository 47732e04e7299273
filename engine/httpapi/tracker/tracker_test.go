package tracker

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/topic"
	"taskrun/engine/leaf/event"
)

// newTestTracker follows an engine that does nothing.
func newTestTracker(t *testing.T) *Tracker {
	t.Helper()
	tr := New(engine.New(engine.Config{}), "node")
	t.Cleanup(tr.Close)
	return tr
}

func status(seq int, id, status string, retry time.Duration, replaces string) event.Event {
	return event.Event{
		Seq: uint64(seq), Alloc: &event.Alloc{Job: "job", ID: id},
		Body: event.AllocStatus{Status: status, Retry: retry, Replaces: replaces},
	}
}

// An engine that replaces allocations without end must not make the tracker
// grow.
func TestTrackerForgetsWhatTheEngineHasForgotten(t *testing.T) {
	t.Parallel()
	tr := newTestTracker(t)
	tr.observe(status(1, "living", api.AllocClientStatusRunning, -1, ""))
	for i := range 10_000 {
		tr.observe(status(2+i, fmt.Sprint("failed-", i), api.AllocClientStatusFailed, -1, ""))
	}
	if n := len(tr.allocs); n > 200 {
		t.Errorf("%d allocations are known", n)
	}
	if n := len(tr.indexes); n > 300 {
		t.Errorf("%d indexes are known", n)
	}
	if r := tr.Alloc("living"); r.Created != 1+topic.First {
		t.Errorf("the living one was forgotten: %+v", r)
	}
}

func TestTrackerKnowsWhatReplacesAnAllocation(t *testing.T) {
	t.Parallel()
	tr := newTestTracker(t)
	tr.observe(status(1, "a", api.AllocClientStatusFailed, time.Minute, ""))
	if r := tr.Alloc("a"); !r.Awaited || !r.ended {
		t.Errorf("%+v", r)
	}
	tr.observe(status(2, "b", api.AllocClientStatusPending, -1, "a"))
	if r := tr.Alloc("a"); r.Awaited || r.Next != "b" || r.Modified != 2+topic.First {
		t.Errorf("%+v", r)
	}
	if index := tr.Index(topic.Alloc("a")); index != 2+topic.First {
		t.Errorf("index %d", index)
	}
}

// A deployment registers the version of its job. An allocation of that version
// that replaces another one was not placed because of the registration.
func TestDeploymentRegistersItsVersion(t *testing.T) {
	t.Parallel()
	tr := newTestTracker(t)
	tr.observe(event.Event{Seq: 1, Body: event.Deployment{ID: "d", Job: "job"}})
	tr.observe(status(2, "b", api.AllocClientStatusPending, -1, "a"))
	tr.observe(status(3, "c", api.AllocClientStatusPending, -1, ""))
	var got []string
	byTrigger := map[string]string{}
	for _, e := range tr.Evaluations() {
		got = append(got, e.Trigger)
		byTrigger[e.Trigger] = e.ID
	}
	if want := []string{TriggerRegister, TriggerFailure}; !slices.Equal(got, want) {
		t.Errorf("evaluations %q, want %q", got, want)
	}
	for alloc, trigger := range map[string]string{"b": TriggerFailure, "c": TriggerRegister} {
		if id := tr.Alloc(alloc).Evaluation; id != byTrigger[trigger] {
			t.Errorf("%s was placed because of %q, want %s, %q", alloc, id, trigger, byTrigger[trigger])
		}
	}
}

func TestTrackerWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTestTracker(t)
		began := time.Now()
		if index := tr.Wait(t.Context(), topic.Job("job"), topic.First, time.Minute); index != topic.First || time.Since(began) != time.Minute {
			t.Errorf("index %d after %v", index, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tr.Wait(ctx, topic.Job("job"), topic.First, time.Minute)
		if len(tr.waiting) != 0 {
			t.Errorf("%d topics are waited for by nobody", len(tr.waiting))
		}
		woken := make(chan uint64)
		go func() { woken <- tr.Wait(t.Context(), topic.Job("job"), topic.First, time.Minute) }()
		synctest.Wait()
		tr.observe(status(7, "x", api.AllocClientStatusPending, -1, ""))
		if index := <-woken; index != 7+topic.First {
			t.Errorf("index %d", index)
		}
		if other := tr.Wait(t.Context(), topic.Job("other"), topic.First, time.Second); other != topic.First {
			t.Errorf("index %d of another job", other)
		}
	})
}
