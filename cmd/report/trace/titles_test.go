package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Marks say what happened, how bad it is and, if there are several jobs, to which.
func TestTitlesOfMarks(t *testing.T) {
	t.Parallel()
	alloc := &event.Alloc{Job: "job", Group: "app", Name: "job.app[0]", ID: "1"}
	one, two := []*event.Alloc{alloc}, []*event.Alloc{alloc, {Job: "other", Group: "app", Name: "other.app[0]", ID: "2"}}
	for _, tt := range []struct {
		all  []*event.Alloc // of one or two jobs
		of   *event.Alloc
		body event.Body
		want Mark
	}{
		{one, nil, event.Deployment{Job: "job", Status: "failed", Description: "d"}, Mark{Kind: Deployment, Title: "deployment failed", Detail: "d", Weight: fold.Trouble}},
		{one, nil, event.Deployment{Job: "job", Status: "paused"}, Mark{Kind: Deployment, Title: "deployment paused", Weight: fold.Setback}},
		{one, nil, event.Deployment{Job: "job", Status: "running", Canarying: true}, Mark{Kind: Deployment, Title: "deployment running", Weight: fold.Setback}},
		{two, nil, event.Deployment{Job: "job", Status: "running"}, Mark{Kind: Deployment, Title: "job: deployment running"}},
		{two, nil, event.Version{Job: "other", Number: 3, Stable: true}, Mark{Kind: Registration, Title: "other: version 3", Detail: "stable"}},
		{one, nil, event.Version{Job: "job", Number: 3}, Mark{Kind: Registration, Title: "version 3"}},
		{two, nil, event.Notice{Text: "n"}, Mark{Kind: Notice, Title: "notice", Detail: "n"}},
		{one, alloc, event.AllocStatus{Status: "failed", Description: "d", Retry: -1}, Mark{Kind: AllocStatus, Title: "allocation failed", Detail: "d", Weight: fold.Trouble}},
		{one, alloc, event.AllocStatus{Status: "complete", Retry: -1}, Mark{Kind: AllocStatus, Title: "allocation complete"}},
		{one, alloc, event.AllocHealth{}, Mark{Kind: Health, Title: "not healthy", Weight: fold.Trouble}},
		{one, alloc, event.AllocHealth{Healthy: true}, Mark{Kind: Health, Title: "healthy", Good: true}},
		{one, alloc, event.Service{Name: "s", Address: "::1", Port: 1, Registered: true}, Mark{Kind: Service, Title: "service s registered", Detail: "[::1]:1"}},
		{one, alloc, event.Service{Name: "s", Address: "h"}, Mark{Kind: Service, Title: "service s deregistered", Detail: "h"}},
		{one, alloc, event.Service{Name: "s", Port: 80}, Mark{Kind: Service, Title: "service s deregistered"}},
		{one, alloc, event.Check{Check: "c", Status: "success", Output: "o"}, Mark{Kind: Check, Title: "check c: success", Detail: "o", Good: true}},
		{one, alloc, event.Check{Check: "c", Status: "failure"}, Mark{Kind: Check, Title: "check c: failure", Weight: fold.Trouble}},
		{one, alloc, event.Check{Check: "c", Status: "pending"}, Mark{Kind: Check, Title: "check c: pending"}},
	} {
		tt.want.Time = begin.Add(time.Second)
		var events []event.Event
		for _, a := range tt.all {
			events = append(events, event.Event{Time: begin, Alloc: a, Task: "web", Body: event.TaskEvent{TaskEvent: event.Received()}})
		}
		events = append(events, event.Event{Time: tt.want.Time, Alloc: tt.of, Body: tt.body})
		trace := build([]*api.Job{job("web")}, events).Trace(begin.Add(time.Minute))
		var got []Mark
		for _, m := range append(trace.Marks, trace.Rows[0].Marks...) {
			if m.Kind != TaskEvent {
				got = append(got, m)
			}
		}
		if diff := cmp.Diff([]Mark{tt.want}, got); diff != "" {
			t.Errorf("%T: %s", tt.body, diff)
		}
	}
}

// A task has taken the time from its first start, whatever was before and between.
func TestTook(t *testing.T) {
	t.Parallel()
	span := func(kind Kind, from, to int) Span {
		return Span{Kind: kind, From: begin.Add(time.Duration(from) * time.Second), To: begin.Add(time.Duration(to) * time.Second)}
	}
	for name, tt := range map[string]struct {
		spans []Span
		took  time.Duration
		ran   bool
	}{
		"nothing":     {nil, 0, false},
		"never ran":   {[]Span{span(Waiting, 0, 2), span(Setup, 2, 5)}, 0, false},
		"ran":         {[]Span{span(Setup, 0, 2), span(Running, 2, 5)}, 3 * time.Second, true},
		"ran at once": {[]Span{span(Running, 2, 2)}, 0, true},
		"ran twice":   {[]Span{span(Setup, 0, 2), span(Running, 2, 5), span(Restarting, 5, 9), span(Running, 9, 10), span(Stopping, 10, 12)}, 10 * time.Second, true},
	} {
		if took, ran := (&Row{Spans: tt.spans}).Took(); took != tt.took || ran != tt.ran {
			t.Errorf("%s: %v, %t", name, took, ran)
		}
	}
}
