package fold

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// The index of a deployment grows with its allocations and their health, like
// its counts, until it has ended.
func TestDeploymentGrowsWithItsAllocations(t *testing.T) {
	t.Parallel()
	at := func(seconds uint64) time.Time { return time.Unix(int64(seconds), 0) }
	health := func(healthy bool) event.Body { return event.AllocHealth{Healthy: healthy} }
	status := func(s string) event.Body { return event.AllocStatus{Status: s, Retry: -1} }
	deployment := func(status string) event.Body {
		return event.Deployment{Job: "j", ID: "d", Status: status}
	}
	alloc := func(id string) *event.Alloc { return &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: id} }
	var seq uint64
	r, x := New(nil), NewIndexes()
	for _, step := range []struct {
		what  string
		of    *event.Alloc
		body  event.Body
		grows bool
	}{
		{"another deployment of the job", nil, event.Deployment{Job: "j", ID: "before", Status: api.DeploymentStatusSuccessful}, false},
		{"a deployment", nil, deployment(api.DeploymentStatusRunning), true},
		{"an event of a task", alloc("1"), event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskReceived}}, false},
		{"an allocation", alloc("1"), status(api.AllocClientStatusPending), true},
		{"its tasks run", alloc("1"), status(api.AllocClientStatusRunning), false},
		{"an allocation of another job", &event.Alloc{Job: "k", ID: "2"}, status(api.AllocClientStatusPending), false},
		{"it is healthy", alloc("1"), health(true), true},
		{"once more", alloc("1"), health(true), false},
		{"no longer", alloc("1"), health(false), true},
		{"a pause", nil, deployment(api.DeploymentStatusPaused), true},
		{"healthy again", alloc("1"), health(true), true},
		{"its end", nil, deployment(api.DeploymentStatusSuccessful), true},
		{"unhealthy after it", alloc("1"), health(false), false},
		{"an allocation after it", alloc("3"), status(api.AllocClientStatusPending), false},
	} {
		seq++
		e := event.Event{Seq: seq, Time: at(seq), Alloc: step.of, Body: step.body}
		var was uint64
		if d := r.Deployment("j"); d != nil {
			was = d.Modified
		}
		r.Apply(e)
		x.Apply(e, nil)
		d := r.Deployment("j")
		if d.ID != "d" {
			continue
		}
		switch grew := d.Modified != was; {
		case grew != step.grows:
			t.Errorf("%s: the index grows: %v, want %v", step.what, grew, step.grows)
		case grew && (d.Modified != Index(e) || !d.Changed.Equal(e.Time)):
			t.Errorf("%s: index %d at %v, want %d at %v", step.what, d.Modified, d.Changed, Index(e), e.Time)
		}
		if asked := x.Of(Topic{DeploymentsOfJob, "j"}); d.Modified > asked {
			t.Errorf("%s: a query waits after %d, before the deployment's own index %d", step.what, asked, d.Modified)
		}
	}
	if first := r.Deployments[0]; first.ID != "before" || first.Modified != FirstIndex+1 {
		t.Errorf("the deployment before is %+v", first)
	}
}

// A message about a job is a change of the job, so that those who follow it read it.
func TestIndexOfANotice(t *testing.T) {
	t.Parallel()
	x := NewIndexes()
	x.Apply(event.Event{Seq: 5, Body: event.Notice{Text: "of the engine"}}, nil)
	if got := x.Of(Topic{Jobs, "j"}); got >= Index(event.Event{Seq: 5}) {
		t.Errorf("a message about no job changes it: %d", got)
	}
	e := event.Event{Seq: 6, Body: event.Notice{Job: "j", Text: "of the job"}}
	x.Apply(e, nil)
	if got := x.Of(Topic{Jobs, "j"}); got != Index(e) {
		t.Errorf("the index is %d, want %d", got, Index(e))
	}
}

// Forgotten evaluations are a change of the lists in which they were. The
// evaluations of other jobs have not changed.
func TestIndexOfForgottenEvaluations(t *testing.T) {
	t.Parallel()
	x := NewIndexes()
	for i, v := range []event.Evaluation{{ID: "1", Job: "j"}, {ID: "2", Job: "k"}} {
		x.Apply(event.Event{Seq: uint64(i + 1), Body: v}, nil)
	}
	before := x.Of(Topic{EvaluationsOfJob, "k"})
	var got []Topic
	gone := event.Event{Seq: 3, Body: event.Forgotten{Job: "j", Evaluations: []string{"1"}}}
	x.Apply(gone, func(t Topic) { got = append(got, t) })
	want := []Topic{{Evaluations, ""}, {Evaluations, "1"}, {EvaluationsOfJob, ""}, {EvaluationsOfJob, "j"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	for _, topic := range want {
		if i := x.Of(topic); i != Index(gone) {
			t.Errorf("%v has index %d, want %d", topic, i, Index(gone))
		}
	}
	if n, known := x.of[Topic{EvaluationsOfJob, "j"}]; known { // jobs come and go
		t.Errorf("index %d is kept for the evaluations of a job without any", n)
	}
	if after := x.Of(Topic{EvaluationsOfJob, "k"}); after != before {
		t.Errorf("the index of another job's evaluations is %d, want %d", after, before)
	}
}

// An evaluation has the index of its version, also after the job has another one.
func TestIndexOfTheVersionOfAnEvaluation(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for seq, body := range []event.Body{
		event.Evaluation{ID: "early", Job: "j"},
		event.Version{Job: "j"},
		event.Evaluation{ID: "first", Job: "j", Trigger: event.JobRegister},
		event.Version{Job: "j", Number: 1},
		event.Evaluation{ID: "stop", Job: "j", Version: 1, Trigger: event.JobDeregister},
		event.Version{Job: "j", Stable: true},
		event.Evaluation{ID: "of another job", Job: "k", Version: 1},
	} {
		r.Apply(event.Event{Seq: uint64(seq), Body: body})
	}
	for id, want := range map[string]uint64{"early": FirstIndex, "first": FirstIndex + 1, "stop": FirstIndex + 3, "of another job": FirstIndex} {
		if got := r.Evaluation(id).JobIndex; got != want {
			t.Errorf("%s: the version has index %d, want %d", id, got, want)
		}
	}
	if v := r.Version("j", 0); v.Evaluation != "first" {
		t.Errorf("version 0 came with evaluation %q", v.Evaluation)
	}
	if v := r.Version("j", 1); v.Evaluation != "" {
		t.Errorf("version 1 came with evaluation %q", v.Evaluation)
	}
}
