package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A job that only launches others is dead once it is stopped, and a query that
// waits for a change of it returns.
func TestStopOfAPeriodicJobIsAChange(t *testing.T) {
	t.Parallel()
	job := newJob("job", "batch", newTask("t"))
	job.Periodic = &api.PeriodicConfig{Spec: new("0 0 1 1 *")}
	job.Canonicalize()
	f := serve(t, job, newJob("other", "service", newTask("o", "run_for", "1h")))
	f.running("o")
	_, meta, err := f.client.Jobs().Info("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() {
		_, _, err := f.client.Jobs().Deregister("job", false, nil)
		stopped <- err
	}()
	now, next, err := f.client.Jobs().Info("job", &api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: patience})
	if err != nil || next.LastIndex == meta.LastIndex || !*now.Stop || *now.Status != "dead" {
		t.Errorf("at index %d, after %d: stop %v, status %s, %v", next.LastIndex, meta.LastIndex, *now.Stop, *now.Status, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestForcePeriodic(t *testing.T) {
	t.Parallel()
	job := newJob("job", "batch", newTask("t"))
	job.Periodic = &api.PeriodicConfig{Spec: new("0 0 1 1 *")}
	job.Canonicalize()
	disabled := newJob("disabled", "batch", newTask("t"))
	disabled.Periodic = &api.PeriodicConfig{Spec: new("0 0 1 1 *"), Enabled: new(false)}
	disabled.Canonicalize()
	f := serve(t, job, disabled, newJob("other", "service", newTask("o", "run_for", "1h")))
	id, _, err := f.client.Jobs().PeriodicForce("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	alloc := f.in("t", "dead")
	if !strings.HasPrefix(alloc.Job, "job/periodic-") {
		t.Errorf("it runs as %q", alloc.Job)
	}
	if e := get[*api.Evaluation](f, "/v1/evaluation/"+id); e.TriggeredBy != "periodic-job" || e.JobID != alloc.Job || e.JobModifyIndex == 0 {
		t.Errorf("the evaluation is of %q, triggered by %s", e.JobID, e.TriggeredBy)
	}
	var placed []*api.AllocationListStub
	for index := uint64(0); len(placed) == 0; { // the server receives events concurrently with this test
		list, meta, err := f.client.Evaluations().Allocations(id, &api.QueryOptions{WaitIndex: index, WaitTime: patience})
		if err != nil || index > 0 && meta.LastIndex == index {
			t.Fatalf("at index %d there is nothing: %v", index, err)
		}
		placed, index = list, meta.LastIndex
	}
	if len(placed) != 1 || placed[0].ID != alloc.ID {
		t.Errorf("placed by the evaluation: %+v", placed)
	}
	job = newJob("job", "batch", newTask("t"))
	job.Periodic = &api.PeriodicConfig{Spec: new("0 0 2 1 *")}
	job.Canonicalize()
	if answer, _, err := f.client.Jobs().Register(job, nil); err != nil || answer.EvalID != "" || answer.JobModifyIndex == 0 {
		t.Errorf("another version: %+v, %v", answer, err)
	}
	if j, _, err := f.client.Jobs().Info("job", nil); err != nil || *j.Version != 1 || *j.Periodic.Spec != "0 0 2 1 *" {
		t.Errorf("version %d, %v", *j.Version, err)
	}
	for id, want := range map[string]string{
		"disabled": `500 (force launch for job "disabled" failed: can't force run non-tracked job "disabled" (default))`,
		"other":    "500 (can't force launch non-periodic job)", "nope": "500 (job not found)",
	} {
		if _, _, err := f.client.Jobs().PeriodicForce(id, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}

// Orders for a job that only launches others have no evaluations: nothing is placed.
func TestParentsHaveNoEvaluations(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	jobs := f.client.Jobs()
	for name, change := range map[string]func(*api.Job){
		"periodic":      func(j *api.Job) { j.Periodic = &api.PeriodicConfig{Spec: new("0 0 1 1 *")} },
		"parameterized": func(j *api.Job) { j.ParameterizedJob = &api.ParameterizedJobConfig{} },
	} {
		job := newJob(name, "batch", newTask("t"))
		change(job)
		var answers []*api.JobRegisterResponse
		did := func(answer *api.JobRegisterResponse, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, answer)
		}
		register := func(priority int) {
			t.Helper()
			job.Priority = &priority
			answer, _, err := jobs.Register(job, nil)
			did(answer, err)
		}
		register(50)
		register(60)
		register(60)
		scaled, _, err := jobs.Scale(name, "g", new(2), "", false, nil, nil)
		did(scaled, err)
		reverted, _, err := jobs.Revert(name, 0, nil, nil, "", "")
		did(reverted, err)
		plan, _, err := jobs.Plan(job, true, nil)
		if err != nil || len(plan.CreatedEvals) > 0 {
			t.Errorf("%s: the plan has %d evaluations, %v", name, len(plan.CreatedEvals), err)
		}
		for _, a := range answers {
			if a.EvalID != "" || a.JobModifyIndex == 0 {
				t.Errorf("%s: evaluation %q, index %d", name, a.EvalID, a.JobModifyIndex)
			}
		}
		scale, _, err := jobs.ScaleStatus(name, nil)
		if err != nil || len(scale.TaskGroups["g"].Events) != 1 || scale.TaskGroups["g"].Events[0].EvalID != nil {
			t.Errorf("%s: %+v, %v", name, scale, err)
		}
		if evaluations, _, err := jobs.Evaluations(name, nil); err != nil || len(evaluations) > 0 {
			t.Errorf("%s has %d evaluations, %v", name, len(evaluations), err)
		}
	}
}
