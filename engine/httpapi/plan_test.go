package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestPlanJob(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	f.running("t")
	for name, c := range map[string]struct {
		job    *api.Job
		change func(*api.Job)
		kind   string
		want   api.DesiredUpdates
	}{
		"same":        {newJob("job", "service", newTask("t", "run_for", "1h")), func(*api.Job) {}, "None", api.DesiredUpdates{Ignore: 1}},
		"more":        {newJob("job", "service", newTask("t", "run_for", "1h")), func(j *api.Job) { j.TaskGroups[0].Count = new(3) }, "Edited", api.DesiredUpdates{InPlaceUpdate: 1, Place: 2}},
		"destructive": {newJob("job", "service", newTask("t", "run_for", "2h")), func(*api.Job) {}, "Edited", api.DesiredUpdates{DestructiveUpdate: 1}},
		"new":         {newJob("other", "service", newTask("t", "run_for", "2h")), func(*api.Job) {}, "Added", api.DesiredUpdates{Place: 1}},
	} {
		c.change(c.job)
		plan, _, err := f.client.Jobs().Plan(c.job, true, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e := plan.CreatedEvals; len(e) != 1 || e[0].JobID != *c.job.ID || e[0].Status != "pending" || e[0].ID == "" {
			t.Errorf("%s: evaluations %+v", name, e)
		}
		if got := *plan.Annotations.DesiredTGUpdates["g"]; got != c.want || plan.Diff.Type != c.kind {
			t.Errorf("%s: %s, %+v, want %s, %+v", name, plan.Diff.Type, got, c.kind, c.want)
		}
		if evals := plan.CreatedEvals; len(evals) != 1 || evals[0].JobID != *c.job.ID || evals[0].TriggeredBy != "job-register" {
			t.Errorf("%s: evaluations %+v, want one of the registration", name, evals)
		}
	}
}

// An update that leaves the allocations running is done at once.
func TestRegisterInPlace(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	alloc := f.running("t")
	f.evaluation(alloc.ID) // from now on, the index is that of the registration
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.Priority = new(70)
	before, _, err := f.client.Jobs().Info("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.client.Jobs().EnforceRegister(job, 1<<40, nil); err == nil || !strings.Contains(err.Error(), "conflicting job modify index") {
		t.Errorf("with another index: %v", err)
	}
	answer, _, err := f.client.Jobs().EnforceRegister(job, *before.JobModifyIndex, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := f.client.Jobs().Info("job", nil)
	if err != nil || *after.Priority != 70 || *after.Version != 1 || *after.JobModifyIndex != answer.JobModifyIndex {
		t.Errorf("after it: priority %d, version %d, %v", *after.Priority, *after.Version, err)
	}
	if jobs, _, err := f.client.Jobs().List(nil); err != nil || len(jobs) != 1 {
		t.Errorf("jobs %+v, %v", jobs, err)
	}
	if a := f.alloc(alloc.ID); a.ClientStatus != "running" || a.DesiredStatus != "run" {
		t.Errorf("the allocation is %s, wanted to %s", a.ClientStatus, a.DesiredStatus)
	}
	// The same version again is no new version.
	if _, _, err := f.client.Jobs().Register(job, nil); err != nil {
		t.Error(err)
	}
	if again, _, err := f.client.Jobs().Info("job", nil); err != nil || *again.Version != 1 {
		t.Errorf("version %d, %v", *again.Version, err)
	}
	// An allocation that is placed later has the new version.
	if _, err := f.client.Allocations().Stop(f.alloc(alloc.ID), nil); err != nil {
		t.Fatal(err)
	}
	if a := f.alloc(f.running("t").ID); *a.Job.Priority != 70 {
		t.Errorf("the next one has priority %d", *a.Job.Priority)
	}
}

// Orders that a run does not support are refused with a reason.
func TestRefusedOrders(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	job := newJob("job", "batch", newTask("t", "run_for", "1h"))
	_, _, register := f.client.Jobs().Register(job, nil)
	_, _, other := f.client.Jobs().Register(newJob("other", "batch", newTask("t")), nil)
	moved := newJob("job", "service", newTask("t", "run_for", "1h"))
	moved.Namespace = new("prod")
	_, _, namespace := f.client.Jobs().Register(moved, nil)
	_, _, scale := f.client.Jobs().Scale("job", "g", new(2), "", false, nil, nil)
	_, _, unknown := f.client.Jobs().Scale("nope", "g", new(2), "", false, nil, nil)
	_, _, group := f.client.Jobs().Scale("job", "nope", new(2), "", false, nil, nil)
	_, _, same := f.client.Jobs().Revert("job", 0, nil, nil, "", "")
	_, _, never := f.client.Jobs().Revert("job", 7, nil, nil, "", "")
	_, _, prior := f.client.Jobs().Revert("job", 0, new(uint64(3)), nil, "", "")
	_, _, promote := f.client.Deployments().PromoteAll("00000000-0000-0000-0000-000000000000", nil)
	job.Type = new("nonsense")
	_, _, plan := f.client.Jobs().Plan(job, true, nil)
	for _, c := range []struct {
		err  error
		want string
	}{
		{register, `500 (cannot update job from type "service" to "batch")`},
		{namespace, `500 (cannot move job "job" from namespace "default" to "prod"`},
		{other, `501 (job "other" is not one of this run`},
		{scale, `400 (job scaling blocked due to active deployment)`},
		{unknown, `404 (job "nope" not found)`},
		{group, `400 (task group "nope" specified for scaling does not exist in job)`},
		{same, `500 (can't revert to current version)`},
		{never, `500 (job "job" in namespace "default" at version 7 not found)`},
		{prior, `500 (Current job has version 0; enforcing version 3)`},
		{promote, `500 (deployment not found)`},
		{plan, "500 (1 error:"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}

// The plan of a periodic job contains its next launch, and without diff no
// difference.
func TestPlanOfAPeriodicJob(t *testing.T) {
	t.Parallel()
	job := func(spec string) *api.Job {
		j := newJob("job", "batch", newTask("t"))
		j.Periodic = &api.PeriodicConfig{Spec: &spec}
		j.Canonicalize()
		return j
	}
	f := serve(t, job("0 0 1 1 *"))
	plan, _, err := f.client.Jobs().Plan(job("0 0 2 1 *"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := plan.NextPeriodicLaunch; n.Month() != time.January || n.Day() != 2 || n.Before(time.Now()) {
		t.Errorf("next launch %v", n)
	}
	if plan.Diff != nil || plan.JobModifyIndex == 0 {
		t.Errorf("%+v, %+v", plan, plan.Diff)
	}
	if plan, _, err = f.client.Jobs().Plan(job("0 0 2 1 *"), true, nil); err != nil || len(plan.Diff.TaskGroups) != 1 {
		t.Errorf("with diff %+v, %v", plan.Diff, err)
	}
}

// The namespace of a request is that of the job, as with the -namespace flag of
// the nomad command and a job file without a namespace.
func TestRegisterInTheNamespaceOfTheRequest(t *testing.T) {
	t.Parallel()
	job := func() *api.Job { return newJob("job", "service", newTask("t", "run_for", "1h")) }
	running := job()
	running.Namespace = new("prod")
	f := serve(t, running)
	in := func(namespace string) *api.WriteOptions { return &api.WriteOptions{Namespace: namespace} }
	for _, name := range []*string{nil, new("default")} {
		again := job()
		again.Namespace = name
		if _, _, err := f.client.Jobs().Plan(again, false, in("prod")); err != nil {
			t.Errorf("plan: %v", err)
		}
		if _, _, err := f.client.Jobs().Register(again, in("prod")); err != nil {
			t.Errorf("register: %v", err)
		}
	}
	body := struct {
		Job       *api.Job
		Namespace string
	}{job(), "prod"}
	if _, err := f.client.Raw().Write("/v1/jobs", body, nil, nil); err != nil {
		t.Errorf("with the namespace in the body: %v", err)
	}
	const want = `cannot move job "job" from namespace "prod" to "default"`
	if _, _, err := f.client.Jobs().Register(running, in("default")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("in another namespace: %v, want %s", err, want)
	}
}
