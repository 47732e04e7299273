package timeline_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobtest/timeline"
	"taskrun/engine/leaf/event"
)

const uuid = "0b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11"

func TestOf(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	web := &event.Alloc{Job: "web", Group: "app", Name: "web.app[1]", ID: uuid}
	child := &event.Alloc{Job: "web/periodic-1767225600", Parent: "web", Group: "app", Name: "web/periodic-1767225600.app[0]", ID: uuid}
	events := []event.Event{
		{Alloc: web, Body: event.AllocStatus{Status: "pending", Replaces: uuid}},
		{Alloc: web, Task: "server", Body: event.TaskState{State: "running"}},
		{Alloc: web, Task: "server", Body: event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "Terminated", DisplayMessage: "Exit Code: 1"}}},
		{Alloc: web, Task: "server", Body: event.TaskEvent{TaskEvent: &api.TaskEvent{
			Type: "Setup Failure", DisplayMessage: "open /tmp/data/jobs/web/alloc/" + uuid + "/server/local/a:\nno such file; see alloc " + uuid,
		}}},
		{Alloc: child, Body: event.AllocHealth{Healthy: true}},
		{Body: event.Deployment{Job: "web", ID: uuid, Status: "failed", Description: "Failed due to progress deadline"}},
		{Alloc: web, Body: event.Service{Name: "http", Registered: true, Address: "127.0.0.1", Port: 23}},
		{Alloc: web, Body: event.Check{Service: "http", Check: "up", Status: "failure", Output: "refused"}},
		{Alloc: web, Body: event.AllocStatus{Status: "running", Replaces: uuid}},
		{Alloc: web, Body: event.AllocHealth{}},
		{Alloc: web, Body: event.Service{Name: "http", Address: "127.0.0.1", Port: 23}},
		{Body: event.Version{Job: "web"}},
		{Body: event.Notice{Text: "no"}},
	}
	for i := range events {
		events[i].Time = began.Add(time.Duration(i) * 1100 * time.Millisecond)
	}
	var got []string
	for _, e := range timeline.Of(began, events) {
		got = append(got, e.String())
	}
	want := []string{
		"0s         app[1]           allocation: pending, in place of the one before",
		"2.2s       app[1]/server    Terminated: Exit Code: 1",
		"3.3s       app[1]/server    Setup Failure: open ALLOC_DIR/server/local/a: no such file; see alloc ID",
		"4.4s       periodic-1767225600/app[0] health: healthy",
		"5.5s       -                deployment: failed: Failed due to progress deadline",
		"6.6s       app[1]           service: http registered",
		"7.7s       app[1]           check: up of http: failure: refused",
		"8.8s       app[1]           allocation: running",
		"9.9s       app[1]           health: unhealthy",
		"11s        app[1]           service: http deregistered",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	var events []timeline.Event
	for i, target := range []string{"a[0]/x", "a[0]/y", "a[0]", "a[1]/x", "a[0]/x", "", "a[0]/xy"} {
		events = append(events, timeline.Event{At: time.Duration(i), Target: target})
	}
	for _, c := range []struct {
		targets []string
		n       int
		want    []time.Duration
	}{
		{[]string{"a[0]/x"}, 5, []time.Duration{0, 4}},
		{[]string{"a[0]/x"}, 1, []time.Duration{4}},
		{[]string{"a[0]"}, 9, []time.Duration{0, 1, 2, 4, 6}},
		{[]string{"a[1]/x", "a[0]/y"}, 9, []time.Duration{1, 3}},
		{nil, 2, []time.Duration{5, 6}},
	} {
		var got []time.Duration
		for _, e := range timeline.About(events, c.targets, c.n) {
			got = append(got, e.At)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.targets, diff)
		}
	}
}
