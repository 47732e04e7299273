package fold

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// A task is stopping from the order to end until its next start. It was stopped
// if it was killed, unless the tasks that it accompanies had ended.
func TestStopping(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		types             []string
		stopping, stopped bool
	}{
		"nothing":               {},
		"a start":               {[]string{api.TaskStarted}, false, false},
		"killed":                {[]string{api.TaskStarted, api.TaskKilling}, true, true},
		"it has ended":          {[]string{api.TaskStarted, api.TaskKilling, api.TaskTerminated, api.TaskKilled}, true, true},
		"killed before a start": {[]string{api.TaskReceived, api.TaskKilling}, true, true},
		"a restart":             {[]string{api.TaskStarted, api.TaskRestartSignal, api.TaskTerminated}, true, false},
		"restarted":             {[]string{api.TaskStarted, api.TaskKilling, api.TaskStarted}, false, false},
		"a pause":               {[]string{api.TaskStarted, event.TaskPausing}, true, false},
		"resumed":               {[]string{api.TaskStarted, event.TaskPausing, event.TaskResuming}, false, false},
		"after its leader":      {[]string{api.TaskStarted, api.TaskLeaderDead, api.TaskKilling}, true, false},
		"after the main tasks":  {[]string{api.TaskStarted, event.TaskMainDead, api.TaskKilling}, true, false},
		"after a failed one":    {[]string{api.TaskStarted, api.TaskSiblingFailed, api.TaskKilling}, true, false},
		"before its latest run": {[]string{api.TaskLeaderDead, api.TaskStarted, api.TaskKilling}, true, true},
	} {
		task := &Task{}
		for _, kind := range c.types {
			task.happened(time.Unix(1, 0), &api.TaskEvent{Type: kind})
		}
		if stopping, stopped := task.Stopping(), task.Stopped(); stopping != c.stopping || stopped != c.stopped {
			t.Errorf("%s: stopping %t, stopped %t", name, stopping, stopped)
		}
	}
}

// An allocation was stopped if it is complete and one of its tasks was stopped.
func TestStoppedAllocation(t *testing.T) {
	t.Parallel()
	killed := &Task{Events: []Happened{{TaskEvent: &api.TaskEvent{Type: api.TaskKilling}}}}
	for _, c := range []struct {
		status string
		tasks  []*Task
		want   bool
	}{
		{api.AllocClientStatusComplete, []*Task{{}, killed}, true},
		{api.AllocClientStatusComplete, []*Task{{}}, false},
		{api.AllocClientStatusFailed, []*Task{killed}, false},
		{api.AllocClientStatusRunning, []*Task{killed}, false},
	} {
		a := &Alloc{Status: c.status, Tasks: c.tasks}
		if got := a.Stopped(); got != c.want {
			t.Errorf("%s with %d tasks: %t", c.status, len(c.tasks), got)
		}
	}
}

// A job has failed if an allocation that counts has, whether it was stopped or
// not.
func TestStatus(t *testing.T) {
	t.Parallel()
	r := New(nil)
	ended := func(job, id, status, replaces string) {
		r.Apply(event.Event{
			Alloc: &event.Alloc{Job: job, Name: job, ID: id, Parent: "parent of " + job},
			Body:  event.AllocStatus{Status: status, Replaces: replaces},
		})
	}
	ended("bad", "1", api.AllocClientStatusFailed, "")
	ended("good", "2", api.AllocClientStatusFailed, "")
	ended("good", "3", api.AllocClientStatusComplete, "2")
	for job, want := range map[string][2]string{
		"bad": {"failed", "failed"}, "parent of bad": {"failed", "failed"}, "good": {"complete", "stopped"}, "none": {"complete", "stopped"},
	} {
		if got := [2]string{r.Status(job, false), r.Status(job, true)}; got != want {
			t.Errorf("%s: %q, want %q", job, got, want)
		}
	}
}

// The failure of a job is that of its own allocations, and of its children's.
func TestFirstFailureOf(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for i, a := range []*event.Alloc{{Job: "j", Name: "j", ID: "1"}, {Job: "k/1", Parent: "k", Name: "k", ID: "2"}} {
		at := time.Unix(int64(i), 0)
		r.Apply(event.Event{Time: at, Alloc: a, Task: "t", Body: event.TaskState{State: "dead", Failed: true}})
		r.Apply(event.Event{Time: at, Alloc: a, Body: event.AllocStatus{Status: api.AllocClientStatusFailed}})
	}
	for job, want := range map[string]string{"j": "1", "k": "2", "k/1": "2", "l": ""} {
		got := ""
		if f := r.FirstFailureOf(job); f != nil {
			got = f.Task.Alloc.ID
		}
		if got != want {
			t.Errorf("%s: the failure of %q, want %q", job, got, want)
		}
	}
}

// The services of an allocation are those that are registered, and its checks
// the latest result of each.
func TestServicesAndChecks(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for _, body := range []event.Body{
		event.Service{ID: "1", Registered: true, Port: 1},
		event.Service{ID: "2", Registered: true},
		event.Service{ID: "1", Registered: true, Port: 3},
		event.Service{ID: "2"},
		event.Check{Service: "s", Check: "a", Status: "failure"},
		event.Check{Service: "s", Check: "b"},
		event.Check{Service: "t", Check: "a"},
		event.Check{Service: "s", Check: "a", Status: "success"},
	} {
		r.Apply(event.Event{Alloc: first, Body: body})
	}
	a := r.Find(first.ID)
	if diff := cmp.Diff([]event.Service{{ID: "1", Registered: true, Port: 3}}, a.Services); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	checks := []event.Check{{Service: "s", Check: "a", Status: "success"}, {Service: "s", Check: "b"}, {Service: "t", Check: "a"}}
	if diff := cmp.Diff(checks, a.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

// An allocation was created with its first event and modified with its latest
// one, and the one that it replaces changes as well.
func TestIndexesOfAllocations(t *testing.T) {
	t.Parallel()
	a, b := &event.Alloc{Name: "n", ID: "a"}, &event.Alloc{Name: "n", ID: "b"}
	r := New(
		nil,
		event.Event{Seq: 1, Alloc: a, Body: event.AllocStatus{Status: "pending", Evaluation: "e", Description: "why", Retry: -1}},
		event.Event{Seq: 2, Alloc: a, Task: "t", Body: event.TaskState{State: "running"}},
		event.Event{Seq: 3, Alloc: a, Task: "t", Body: event.Output{}},
		event.Event{Seq: 5, Alloc: b, Body: event.AllocStatus{Status: "pending", Replaces: "a", Retry: time.Second}},
	)
	type state struct {
		created, modified       uint64
		evaluation, description string
		retry                   time.Duration
	}
	for id, want := range map[string]state{"a": {2, 6, "e", "why", -1}, "b": {6, 6, "", "", time.Second}} {
		x := r.Find(id)
		if got := (state{x.Created, x.Modified, x.Evaluation, x.Description, x.Retry}); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
}

// The evaluation of a version is the first one of its registration, or of a
// change of a count. The oldest evaluations make room for others.
func TestEvaluations(t *testing.T) {
	t.Parallel()
	r := New(nil, event.Event{Seq: 1, Body: event.Version{Job: "j", Number: 3}})
	r.KeepEvaluations(3)
	evaluated := func(id, job, alloc string, why event.Trigger) {
		r.Apply(event.Event{Seq: 2, Body: event.Evaluation{ID: id, Job: job, Alloc: alloc, Version: 3, Trigger: why}})
	}
	evaluated("1", "j", "", event.JobDeregister)
	if got := r.Version("j", 3).Evaluation; got != "" {
		t.Errorf("the evaluation of the version is %q", got)
	}
	evaluated("2", "j", "", event.JobScaling)
	evaluated("3", "j", "", event.JobRegister)
	if got := r.Version("j", 3).Evaluation; got != "2" {
		t.Errorf("the evaluation of the version is %q, want the first one", got)
	}
	surplus := func(of func(*Evaluation) bool) (ids []string) {
		for _, e := range r.Surplus(of) {
			ids = append(ids, e.ID)
		}
		return ids
	}
	if got := surplus(func(*Evaluation) bool { return true }); !slices.Equal(got, []string{"1"}) {
		t.Errorf("surplus: %q", got)
	}
	if got := surplus(func(e *Evaluation) bool { return e.Trigger == event.JobRegister }); !slices.Equal(got, []string{"3"}) {
		t.Errorf("surplus of some: %q", got)
	}
	evaluated("4", "j", "a", event.AllocFailure)
	if r.Evaluation("1") != nil || len(r.Evaluations) != 3 {
		t.Errorf("%d evaluations are kept", len(r.Evaluations))
	}
	if e := r.Evaluation("4"); e == nil || e.Index != 3 || r.Evaluation("5") != nil {
		t.Errorf("evaluation 4: %+v", e)
	}
	for _, c := range []struct {
		job, alloc string
		why        event.Trigger
		want       bool
	}{
		{"j", "a", event.AllocFailure, true},
		{"k", "a", event.AllocFailure, false},
		{"j", "", event.AllocFailure, false},
		{"j", "a", event.JobRegister, false},
	} {
		if got := r.Evaluated(c.job, c.alloc, c.why); (got != nil) != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	r.KeepEvaluations(9)
	if got := r.Surplus(func(*Evaluation) bool { return true }); len(got) > 0 {
		t.Errorf("surplus although there is room: %d", len(got))
	}
}

// A later event of a deployment or a version changes it, and keeps the index of
// its creation.
func TestDeploymentsAndVersions(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for i, id := range []string{"1", "2", "1"} {
		seq := uint64(i + 1)
		r.Apply(event.Event{Seq: seq, Time: time.Unix(int64(seq), 0), Body: event.Deployment{Job: "j", ID: id, Description: id + "!"}})
		r.Apply(event.Event{Seq: seq, Body: event.Version{Job: "j", Number: seq % 2, Stable: seq == 3}})
	}
	if len(r.Deployments) != 2 || len(r.DeploymentsOf("j")) != 2 || r.Deployment("j").ID != "2" || r.Deployment("k") != nil {
		t.Errorf("deployments: %+v; the latest one is %+v", r.Deployments, r.Deployment("j"))
	}
	if d := r.Deployments[0]; d.Created != 2 || d.Modified != 4 || !d.Changed.Equal(time.Unix(3, 0)) || d.Description != "1!" {
		t.Errorf("%+v", d)
	}
	if v := r.Version("j", 1); v.Created != 2 || v.Modified != 4 || !v.Stable {
		t.Errorf("%+v", v)
	}
}

// New allocations get their tasks from the job or from its parent. A nil job is
// forgotten, and the tasks come with their events.
func TestSpecify(t *testing.T) {
	t.Parallel()
	r := New(nil)
	j := job(task("a", "", false), task("last", "poststop", false))
	r.Specify("parent", j)
	child := r.Alloc(&event.Alloc{Job: "parent/1", Parent: "parent", Group: "g", ID: "1"})
	if len(child.Tasks) != 2 || child.Tasks[0].Poststop() || !child.Tasks[1].Poststop() {
		t.Errorf("the tasks are %+v", child.Tasks)
	}
	r.Specify("parent", nil)
	if later := r.Alloc(&event.Alloc{Job: "parent/2", Parent: "parent", Group: "g", ID: "2"}); len(later.Tasks) != 0 {
		t.Errorf("the tasks of a job that is gone are %+v", later.Tasks)
	}
	e := event.Event{Alloc: &event.Alloc{ID: "2"}, Task: "t"}
	if made := r.Task(e); made.State != "pending" || r.Task(e) != made || made.Poststop() {
		t.Errorf("the task of an event is %+v", made)
	}
}

// The exit code of a task is that of its latest end, and once failed, it stays
// so.
func TestExitCode(t *testing.T) {
	t.Parallel()
	r := New(nil)
	ended := func(code string) {
		r.Apply(event.Event{Alloc: first, Task: "t", Body: event.TaskEvent{
			TaskEvent: &api.TaskEvent{Type: api.TaskTerminated, Details: map[string]string{"exit_code": code}},
		}})
	}
	ended("3")
	ended("odd")
	r.Apply(event.Event{Alloc: first, Task: "t", Body: event.TaskEvent{
		TaskEvent: &api.TaskEvent{Type: api.TaskDriverMessage, Details: map[string]string{"exit_code": "9"}},
	}})
	r.Apply(event.Event{Time: time.Unix(1, 0), Alloc: first, Task: "t", Body: event.TaskState{State: "dead", Failed: true}})
	r.Apply(event.Event{Time: time.Unix(2, 0), Alloc: first, Task: "t", Body: event.TaskState{State: "dead"}})
	got := r.Find(first.ID).Tasks[0]
	if got.ExitCode == nil || *got.ExitCode != 3 || !got.Failed || !got.Finished.Equal(time.Unix(1, 0)) {
		t.Errorf("%+v", got)
	}
	if f := got.Alloc.Failure; f == nil || f.Task != got || !f.Time.Equal(time.Unix(1, 0)) {
		t.Errorf("the failure is %+v", f)
	}
}
