package httpapi_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// ended waits until an allocation has ended.
func (f *fixture) ended(id string) {
	f.Helper()
	f.until(func(e event.Event) bool {
		s, ok := e.Body.(event.AllocStatus)
		return ok && e.Alloc.ID == id && (s.Status == "complete" || s.Status == "failed")
	})
}

// One job is stopped, the other one continues.
func TestStopJob(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("a", "service", newTask("t-a", "run_for", "1h")), newJob("b", "service", newTask("t-b", "run_for", "1h")))
	alloc := f.running("t-a")
	evaluation, _, err := f.client.Jobs().Deregister("a", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e, _, err := f.client.Evaluations().Info(evaluation, nil); err != nil || e.TriggeredBy != "job-deregister" || e.JobID != "a" {
		t.Errorf("its evaluation: %+v, %v", e, err)
	}
	f.ended(alloc.ID)
	a := f.alloc(alloc.ID)
	if a.DesiredStatus != "stop" || a.DesiredDescription != "alloc not needed due to job update" || a.ClientStatus != "complete" {
		t.Errorf("the allocation: %s (%s), %s", a.DesiredStatus, a.DesiredDescription, a.ClientStatus)
	}
	jobs, _, err := f.client.Jobs().List(nil)
	if err != nil || len(jobs) != 2 || !jobs[0].Stop || jobs[1].Stop || jobs[1].Status != "running" {
		t.Errorf("jobs %+v, %v", jobs, err)
	}
	// There is nothing left to stop; with purge the job is forgotten.
	if evaluation, _, err := f.client.Jobs().Deregister("a", true, nil); err != nil || evaluation != "" {
		t.Errorf("stopped again: %q, %v", evaluation, err)
	}
	for deadline := time.Now().Add(patience); ; { // the job may still be ending
		jobs, _, err := f.client.Jobs().List(&api.QueryOptions{Prefix: "a"})
		if err == nil && len(jobs) == 0 {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("purged: %+v, %v", jobs, err)
		}
	}
	if evaluation, _, err := f.client.Jobs().Deregister("nope", true, nil); err != nil || evaluation != "" {
		t.Errorf("unknown job: %q, %v", evaluation, err)
	}
}

// A stopped allocation is replaced.
func TestStopAllocation(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	alloc := f.running("t")
	answer, err := f.client.Allocations().Stop(f.alloc(alloc.ID), nil)
	if err != nil {
		t.Fatal(err)
	}
	next := f.running("t")
	if next.ID == alloc.ID || next.Name != alloc.Name {
		t.Errorf("in its place runs %+v", next)
	}
	if evaluation := f.evaluation(next.ID); evaluation != answer.EvalID {
		t.Errorf("it was placed by %q, want %q", evaluation, answer.EvalID)
	}
	old := f.alloc(alloc.ID)
	if old.NextAllocation != next.ID || old.DesiredDescription != "alloc is being migrated" {
		t.Errorf("the old one: next %q, %q", old.NextAllocation, old.DesiredDescription)
	}
	placed, _, err := f.client.Evaluations().Allocations(answer.EvalID, nil)
	if err != nil || len(placed) != 1 || placed[0].ID != next.ID {
		t.Errorf("placed by the evaluation: %+v, %v", placed, err)
	}
	if _, err := f.client.Allocations().Stop(&api.Allocation{ID: nodeID}, nil); err == nil {
		t.Error("an unknown one was stopped")
	}
}

// A batch job's allocation, stopped like the nomad command does it, is replaced
// if its group is rescheduled at all.
func TestStopAllocationOfABatchJob(t *testing.T) {
	t.Parallel()
	job := newJob("job", "batch", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	f := serve(t, job)
	reschedule := &api.QueryOptions{Params: map[string]string{"reschedule": "true"}}
	if _, err := f.client.Allocations().Stop(f.alloc(f.running("t").ID), reschedule); err != nil {
		t.Fatal(err)
	}
	if all := f.engine.Allocs(); len(all) != 1 || !all[0].Final {
		t.Errorf("it is not final: %+v", all)
	}
	<-f.engine.Done()
}

// Without "reschedule" it is replaced at once.
func TestStopAllocationOfABatchJobForMigration(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("t", "run_for", "1h")))
	alloc := f.running("t")
	if _, err := f.client.Allocations().Stop(f.alloc(alloc.ID), nil); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(f.engine.Allocs(), func(a engine.Alloc) bool { return a.Final }) {
		t.Error("it is final")
	}
	if next := f.running("t"); next.ID == alloc.ID {
		t.Error("it runs on")
	}
}
