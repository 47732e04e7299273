package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// submit registers a job, which must succeed.
func (f *fixture) submit(job *api.Job, opts *api.RegisterOptions) *api.JobRegisterResponse {
	f.Helper()
	answer, meta, err := f.client.Jobs().RegisterOpts(job, opts, nil)
	if err != nil {
		f.Fatal(err)
	}
	if meta.LastIndex == 0 || answer.JobModifyIndex == 0 || answer.JobModifyIndex > meta.LastIndex {
		f.Errorf("registered %s at %d, index %d", *job.ID, answer.JobModifyIndex, meta.LastIndex)
	}
	return answer
}

// dead waits until a job is dead.
func (f *fixture) dead(path string) *api.Job {
	f.Helper()
	return follow(f, path, func(j *api.Job) bool { return *j.Status == "dead" })
}

// An agent forgets by order what has ended.
func TestGarbageCollectionOfAnAgent(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	f.submit(newJob("ended", "batch", newTask("e")), nil)
	f.submit(newJob("runs", "batch", newTask("r", "run_for", "1h")), nil)
	f.running("r")
	f.dead("/v1/job/ended")
	type item struct{ ID, JobID string }
	// The job is dead before its goroutine has noticed, and nothing tells of that.
	for _, path := range []string{"/v1/jobs", "/v1/allocations", "/v1/evaluations"} {
		list := []item{{}, {}}
		for begin := time.Now(); len(list) > 1; list = get[[]item](f, path) {
			if err := f.client.System().GarbageCollect(); err != nil || time.Since(begin) > patience {
				t.Fatalf("%s has %+v, %v", path, list, err)
			}
		}
		if len(list) != 1 || list[0].JobID != "runs" && list[0].ID != "runs" {
			t.Errorf("%s has %+v", path, list)
		}
	}
}

// A job is registered, stopped, started again, and purged.
func TestLifeOfAJob(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	job := func(env string) *api.Job {
		j := newJob("job", "service", newTask("t", "run_for", "1h"))
		j.Meta = map[string]string{"v": env}
		return j
	}
	first := f.submit(job("a"), &api.RegisterOptions{Submission: &api.JobSubmission{Source: "a", Format: "hcl2"}})
	list := follow(f, "/v1/allocations", func(l []*api.AllocationListStub) bool { return len(l) == 1 })
	if list[0].EvalID != first.EvalID || list[0].CreateIndex <= first.EvalCreateIndex {
		t.Errorf("it was placed at %d by %q, registered with %+v", list[0].CreateIndex, list[0].EvalID, first)
	}
	firstEvaluation := func(when string) { // it stays as it is, as in Nomad
		t.Helper()
		e := get[*api.Evaluation](f, "/v1/evaluation/"+first.EvalID)
		if e.Status != "complete" || e.Type != "service" || e.Priority != 50 || e.TriggeredBy != "job-register" || e.JobModifyIndex != first.JobModifyIndex {
			t.Errorf("%s, its first evaluation: %+v", when, e)
		}
	}
	firstEvaluation("registered")
	again := f.submit(job("a"), nil)
	if again.EvalID == first.EvalID || again.JobModifyIndex != first.JobModifyIndex || again.EvalCreateIndex <= first.EvalCreateIndex {
		t.Errorf("the same job again: %+v after %+v", again, first)
	}

	stopped, wm, err := f.client.Jobs().Deregister("job", false, nil)
	if err != nil || stopped == "" || wm.LastIndex <= again.EvalCreateIndex {
		t.Fatalf("stopped: %q at %d, %v", stopped, wm.LastIndex, err)
	}
	if j := f.dead("/v1/job/job"); !*j.Stop || *j.Version != 1 || *j.CreateIndex != first.JobModifyIndex || *j.JobModifyIndex <= again.EvalCreateIndex || *j.JobModifyIndex > wm.LastIndex {
		t.Errorf("the dead job: version %d, stop %t, created %d, registered %d", *j.Version, *j.Stop, *j.CreateIndex, *j.JobModifyIndex)
	}
	if jobs, _, err := f.client.Jobs().List(nil); err != nil || len(jobs) != 1 || jobs[0].Status != "dead" || !jobs[0].Stop {
		t.Errorf("listed: %+v, %v", jobs, err)
	}
	versions, _, _, err := f.client.Jobs().Versions("job", false, nil)
	if err != nil || len(versions) != 2 || !*versions[0].Stop || *versions[1].Stop {
		t.Errorf("versions: %+v, %v", versions, err)
	}

	firstEvaluation("stopped")

	// As nomad job start does it.
	if _, _, err := f.client.Jobs().Revert("job", 0, nil, nil, "", ""); err != nil {
		t.Fatal(err)
	}
	if j := get[*api.Job](f, "/v1/job/job"); *j.Stop || *j.Version != 2 || *j.CreateIndex != first.JobModifyIndex {
		t.Errorf("the started job: version %d, stop %t", *j.Version, *j.Stop)
	}
	for version, want := range []string{"a", "a", "a"} {
		if s, _, err := f.client.Jobs().Submission("job", version, nil); err != nil || s.Source != want {
			t.Errorf("source of version %d: %+v, %v", version, s, err)
		}
	}
	follow(f, "/v1/job/job/allocations", func(l []*api.AllocationListStub) bool {
		return slices.ContainsFunc(l, func(a *api.AllocationListStub) bool { return a.JobVersion == 2 && a.ClientStatus == "running" })
	})

	purged, wm, err := f.client.Jobs().Deregister("job", true, nil)
	if err != nil || purged == "" || wm.LastIndex == 0 {
		t.Fatalf("purged: %q at %d, %v", purged, wm.LastIndex, err)
	}
	if jobs, meta, err := f.client.Jobs().List(nil); err != nil || len(jobs) != 0 || meta.LastIndex < wm.LastIndex {
		t.Errorf("after the purge: %+v at %d, %v", jobs, meta.LastIndex, err)
	}
	firstEvaluation("purged")
	if _, _, err := f.client.Jobs().Submission("job", 0, nil); err == nil || !strings.Contains(err.Error(), "job source not found") {
		t.Errorf("source of the purged job: %v", err)
	}
	if next := f.submit(job("b"), nil); next.JobModifyIndex <= wm.LastIndex {
		t.Errorf("the next one is at %d, after %d", next.JobModifyIndex, wm.LastIndex)
	}
	if j := get[*api.Job](f, "/v1/job/job"); *j.Version != 0 || *j.CreateIndex != *j.JobModifyIndex {
		t.Errorf("the next job: version %d, created %d, registered %d", *j.Version, *j.CreateIndex, *j.JobModifyIndex)
	}
}

// Evaluations have the priority that the order asks for.
func TestEvalPriority(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	job := func() *api.Job { return newJob("job", "service", newTask("t", "run_for", "1h")) }
	priority := func(evaluation string) int { return get[*api.Evaluation](f, "/v1/evaluation/"+evaluation).Priority }
	for _, want := range []int{99, 98} {
		if got := priority(f.submit(job(), &api.RegisterOptions{EvalPriority: want}).EvalID); got != want {
			t.Errorf("registered with priority %d, want %d", got, want)
		}
	}
	id, _, err := f.client.Jobs().DeregisterOpts("job", &api.DeregisterOptions{EvalPriority: 97}, nil)
	if err != nil || priority(id) != 97 {
		t.Errorf("stopped with priority %d, %v", priority(id), err)
	}
	for priority, want := range map[string]string{"-1": `200 {"EvalID":…`, "0": `200 {"EvalID":…`, "x": "400 error parsing eval_priority: …", "101": "400 Eval priority must be between 1 and 100 inclusively"} {
		f.answers(t, map[string]string{"DELETE /v1/job/job?eval_priority=" + priority: want})
	}
	if _, _, err := f.client.Jobs().RegisterOpts(job(), &api.RegisterOptions{EvalPriority: 101}, nil); err == nil || !strings.Contains(err.Error(), "400 (Eval priority must be between") {
		t.Errorf("priority 101: %v", err)
	}
}

// An order can keep the counts and the resources of the current version.
func TestPreserve(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	job := func(count *int, cpu int) *api.Job {
		task := newTask("t", "run_for", "1h")
		task.Resources = &api.Resources{CPU: &cpu, MemoryMB: new(64)}
		j := newJob("job", "batch", task)
		j.TaskGroups[0].Count = count
		return j
	}
	f.submit(job(new(2), 10), nil)
	for name, c := range map[string]struct {
		opts  api.RegisterOptions
		count *int
		want  string
	}{
		"counts":    {api.RegisterOptions{PreserveCounts: true}, new(0), "2 20"},
		"no count":  {api.RegisterOptions{PreserveCounts: true}, nil, "2 20"},
		"resources": {api.RegisterOptions{PreserveResources: true}, new(1), "1 10"},
		"both":      {api.RegisterOptions{PreserveCounts: true, PreserveResources: true}, new(1), "2 10"},
		"neither":   {api.RegisterOptions{}, new(1), "1 20"},
	} {
		f.submit(job(new(2), 10), nil)
		f.submit(job(c.count, 20), &c.opts)
		g := get[*api.Job](f, "/v1/job/job").TaskGroups[0]
		if got := fmt.Sprint(*g.Count, *g.Tasks[0].Resources.CPU); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Of registrations that enforce the same index, one succeeds.
func TestEnforcedIndexRaces(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	for _, index := range []uint64{0, 1} {
		if index > 0 {
			index = *get[*api.Job](f, "/v1/job/job").JobModifyIndex
		}
		var wait sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wait.Go(func() {
				job := newJob("job", "service", newTask("t", "run_for", "1h"))
				job.Meta = map[string]string{"i": fmt.Sprint(index, i)}
				_, _, errs[i] = f.client.Jobs().EnforceRegister(job, index, nil)
			})
		}
		wait.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !strings.Contains(err.Error(), api.RegisterEnforceIndexErrPrefix):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("at index %d, %d registrations succeeded", index, won)
		}
	}
}

// An allocation shows how it was stopped.
func TestStopOfAllocations(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Tasks[0].ShutdownDelay = time.Hour
	f.submit(job, nil)
	for _, param := range []string{"reschedule", "no_shutdown_delay"} {
		alloc := f.running("t").ID
		stopped, err := f.client.Allocations().Stop(&api.Allocation{ID: alloc}, &api.QueryOptions{Params: map[string]string{param: "true", "no_shutdown_delay": "true"}})
		if err != nil || stopped.EvalID == "" {
			t.Fatalf("%+v, %v", stopped, err)
		}
		how := f.alloc(alloc).DesiredTransition
		if !how.ShouldMigrate() || how.ShouldReschedule() != (param == "reschedule") || !how.ShouldIgnoreShutdownDelay() {
			t.Errorf("%s: %+v", param, how)
		}
	}
	f.running("t") // after shutdown_delay was skipped
	if _, _, err := f.client.Jobs().DeregisterOpts("job", &api.DeregisterOptions{NoShutdownDelay: true}, nil); err != nil {
		t.Fatal(err)
	}
	f.dead("/v1/job/job")
}

// A scaling event names the evaluation of the new version.
func TestScalingEvents(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	f.submit(newJob("job", "batch", newTask("t", "run_for", "1h")), nil)
	for id, group := range map[string]string{"job": "", "none": ""} {
		if _, _, err := f.client.Jobs().Scale(id, group, new(2), "", false, nil, nil); err == nil || !strings.Contains(err.Error(), "400 (missing task group name") {
			t.Errorf("%s: %v", id, err)
		}
	}
	scaled, _, err := f.client.Jobs().Scale("job", "g", new(2), "more", false, nil, nil)
	if err != nil || scaled.EvalID == "" {
		t.Fatalf("%+v, %v", scaled, err)
	}
	if e := get[*api.Evaluation](f, "/v1/evaluation/"+scaled.EvalID); e.TriggeredBy != "job-scaling" || e.Status != "complete" {
		t.Errorf("%+v", e)
	}
	if _, _, err := f.client.Jobs().Scale("job", "g", nil, "a note", false, nil, nil); err != nil {
		t.Fatal(err)
	}
	events := get[*api.JobScaleStatusResponse](f, "/v1/job/job/scale").TaskGroups["g"].Events
	if len(events) != 2 || events[0].EvalID != nil || events[1].EvalID == nil || *events[1].EvalID != scaled.EvalID {
		t.Errorf("%+v", events)
	}
	// A dead job can be scaled, and stays dead.
	if _, _, err := f.client.Jobs().Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	f.dead("/v1/job/job")
	if _, _, err := f.client.Jobs().Scale("job", "g", new(3), "", false, nil, nil); err != nil {
		t.Fatal(err)
	}
	if j := get[*api.Job](f, "/v1/job/job"); !*j.Stop || *j.Status != "dead" || *j.TaskGroups[0].Count != 3 {
		t.Errorf("scaled: %s, stop %t, count %d", *j.Status, *j.Stop, *j.TaskGroups[0].Count)
	}
}

// An allocation that has ended keeps its version of the job, with the indexes of that,
// however many versions come after it.
func TestJobOfAnEndedAllocation(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	job := func(priority int) *api.Job {
		j := newJob("job", "service", newTask("t", "run_for", "1ms", "exit_code", 1))
		j.Priority = &priority // it changes nothing of an allocation
		return j
	}
	first := f.submit(job(50), nil)
	id := f.in("t", "dead").ID
	f.ended(id)
	for n := range 10 {
		f.submit(job(51+n), nil)
	}
	if versions := get[*struct{ Versions []*api.Job }](f, "/v1/job/job/versions").Versions; len(versions) > 9 {
		t.Errorf("%d versions are kept", len(versions))
	}
	j := f.alloc(id).Job
	if *j.Version != 0 || *j.Priority != 50 || *j.CreateIndex != first.JobModifyIndex || *j.ModifyIndex != first.JobModifyIndex || *j.JobModifyIndex != first.JobModifyIndex {
		t.Errorf("version %d with priority %d, indexes %d, %d and %d; registered at %d", *j.Version, *j.Priority, *j.CreateIndex, *j.ModifyIndex, *j.JobModifyIndex, first.JobModifyIndex)
	}
}

// A client that follows an allocation learns that it goes on with another version, and
// one of the event stream, in Nomad's words, that a plan was carried out.
func TestMovedAllocationIsFollowed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := serveResident(t)
	job := newJob("job", "batch", newTask("t", "run_for", "1h"))
	f.submit(job, nil)
	id := f.running("t").ID
	job.Priority = new(60)
	f.submit(job, nil)
	follow(f, "/v1/allocation/"+id, func(a *api.Allocation) bool {
		return *a.Job.Version == 1 && a.ModifyIndex > *a.Job.ModifyIndex
	})
	placed := f.alloc(id).CreateIndex
	e := f.next(ctx, f.frames(ctx, map[api.Topic][]string{api.TopicAllocation: {id}}, 0), func(e api.Event) bool {
		return e.Index > placed && e.Type == "PlanResult"
	})
	if a, err := e.Allocation(); err != nil || a.ID != id || a.ModifyIndex < e.Index {
		t.Errorf("%+v, %v", a, err)
	}
}
