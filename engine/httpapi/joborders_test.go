package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"

	"taskrun/engine/httpapi"
	"taskrun/jobspec"
)

// untilListed waits until an allocation of the job is listed with a status. Its event
// may come a little earlier.
func (f *fixture) untilListed(status string) {
	f.Helper()
	f.untilStatus(status)
	follow(f, "/v1/job/job/allocations", func(list []*api.AllocationListStub) bool {
		return slices.ContainsFunc(list, func(a *api.AllocationListStub) bool { return a.ClientStatus == status })
	})
}

// A failed allocation in whose place the next version of its job runs was updated,
// not rescheduled.
func TestUpdateOfAFailedAllocation(t *testing.T) {
	t.Parallel()
	version := func(config ...any) *api.Job {
		job := newJob("job", "service", newTask("main", config...))
		g := job.TaskGroups[0]
		g.Update = &api.UpdateStrategy{MaxParallel: new(0)}
		g.ReschedulePolicy = &api.ReschedulePolicy{
			Attempts: new(0), Delay: new(time.Hour), MaxDelay: new(time.Hour), DelayFunction: new("constant"), Unlimited: new(true),
		}
		job.Canonicalize()
		return job
	}
	for why, next := range map[string]*api.Job{
		"alloc is being updated due to job update": version("run_for", "1h"),
		"alloc was rescheduled because it failed":  version("exit_code", 1),
	} {
		f := serve(t, version("exit_code", 1))
		f.untilListed("failed")
		next.Priority = new(70)
		if _, _, err := f.client.Jobs().Register(next, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.client.Jobs().EvaluateWithOpts("job", api.EvalOptions{ForceReschedule: true}, nil); err != nil {
			t.Fatal(err)
		}
		list := follow(f, "/v1/job/job/allocations", func(list []*api.AllocationListStub) bool { return len(list) == 2 })
		was, now := list[0], list[1]
		if was.NextAllocation == "" {
			was, now = now, was
		}
		if was.DesiredStatus != "stop" || was.DesiredDescription != why || was.JobVersion != 0 || now.JobVersion != 1 {
			t.Errorf("that of version %d is to %s: %s; want %s; the next one is of version %d", was.JobVersion, was.DesiredStatus, was.DesiredDescription, why, now.JobVersion)
		}
	}
}

// A failed allocation of a system job is still wanted when a newer version runs in its
// place.
func TestUpdateOfAFailedSystemJob(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	version := func(config ...any) {
		t.Helper()
		job := newJob("job", "system", newTask("main", config...))
		job.TaskGroups[0].ReschedulePolicy = nil
		if _, _, err := f.client.Jobs().Register(job, nil); err != nil {
			t.Fatal(err)
		}
	}
	version("exit_code", 1)
	listed := func(n int, status string) (found []*api.AllocationListStub) {
		t.Helper()
		follow(f, "/v1/job/job/allocations", func(list []*api.AllocationListStub) bool {
			found = slices.DeleteFunc(list, func(a *api.AllocationListStub) bool { return a.ClientStatus != status })
			return len(found) == n
		})
		return found
	}
	listed(2, "failed") // the end of the deployment replaces the first one once
	version("run_for", "1h")
	was := f.alloc(f.alloc(listed(1, "running")[0].ID).PreviousAllocation)
	if was.DesiredStatus != "run" || was.DesiredDescription != "" || was.NextAllocation == "" {
		t.Errorf("it is to %s: %s", was.DesiredStatus, was.DesiredDescription)
	}
}

// A job is not dead while some of its first allocations wait to be placed.
func TestStatusWhileAllocationsArePlaced(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	for i := range 10 {
		job := newJob(fmt.Sprint("job", i), "batch", newTask("fails", "exit_code", 1))
		job.TaskGroups[0].Count, job.TaskGroups[0].ReschedulePolicy = new(3), &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
		if _, _, err := f.client.Jobs().Register(job, nil); err != nil {
			t.Fatal(err)
		}
		follow(f, "/v1/job/"+*job.ID, func(j *api.Job) bool { return *j.Status == "dead" })
		// These are at least as new as the status.
		list := get[[]*api.AllocationListStub](f, "/v1/job/"+*job.ID+"/allocations")
		failed := 0
		for _, a := range list {
			if a.ClientStatus == "failed" {
				failed++
			}
		}
		if failed != 3 {
			t.Errorf("%s is dead: %d of %d allocations have failed", *job.ID, failed, len(list))
		}
	}
}

// A job that is registered as stopped runs nothing, and deploys nothing.
func TestStoppedFirstVersion(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.Stop = new(true)
	if _, _, err := f.client.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
	follow(f, "/v1/job/job", func(j *api.Job) bool { return *j.Status == "dead" })
	deployments, _, err := f.client.Jobs().Deployments("job", true, nil)
	if err != nil || len(deployments) > 0 {
		t.Errorf("%d deployments, %v", len(deployments), err)
	}
	allocs, _, err := f.client.Jobs().Allocations("job", true, nil)
	if err != nil || len(allocs) > 0 {
		t.Errorf("%d allocations, %v", len(allocs), err)
	}
}

// An allocation of a batch job that has ended has nothing to do with the ones of
// later versions; one that still runs is replaced.
func TestUpdateOfABatchJob(t *testing.T) {
	t.Parallel()
	for status, tt := range map[string]struct {
		config      []any
		change      func(*api.Job)
		replaced    bool
		description string
	}{
		"failed":  {[]any{"exit_code", 1}, func(j *api.Job) { j.Priority = new(70) }, false, ""},
		"running": {[]any{"run_for", "1h"}, func(j *api.Job) { j.Meta = map[string]string{"a": "b"} }, true, "alloc is being updated due to job update"},
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			version := func() *api.Job {
				job := newJob("job", "batch", newTask("main", tt.config...))
				job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
					Attempts: new(0), Delay: new(time.Hour), MaxDelay: new(time.Hour), DelayFunction: new("constant"), Unlimited: new(true),
				}
				job.Canonicalize()
				return job
			}
			f := serve(t, version())
			f.untilListed(status)
			next := version()
			tt.change(next)
			if _, _, err := f.client.Jobs().Register(next, nil); err != nil {
				t.Fatal(err)
			}
			list := follow(f, "/v1/job/job/allocations", func(list []*api.AllocationListStub) bool { return len(list) == 2 })
			slices.SortFunc(list, func(a, b *api.AllocationListStub) int { return int(a.JobVersion) - int(b.JobVersion) })
			was, now := list[0], list[1]
			if (was.NextAllocation == now.ID) != tt.replaced || was.DesiredDescription != tt.description || was.RescheduleTracker != nil {
				t.Errorf("the first one is to %s: %q, before %q", was.DesiredStatus, was.DesiredDescription, was.NextAllocation)
			}
			if (f.alloc(now.ID).PreviousAllocation == was.ID) != tt.replaced || now.RescheduleTracker != nil {
				t.Errorf("the second one comes after %+v", now.RescheduleTracker)
			}
		})
	}
}

// A version that only stops or scales the one before it is as stable as that.
func TestStableVersions(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	jobs := f.client.Jobs()
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Update = &api.UpdateStrategy{MaxParallel: new(1), MinHealthyTime: new(time.Duration(0))}
	job.Canonicalize()
	register := func() {
		t.Helper()
		if _, _, err := jobs.Register(job, nil); err != nil {
			t.Fatal(err)
		}
	}
	register()
	follow(f, "/v1/job/job/deployment", func(d *api.Deployment) bool { return d != nil && d.Status == "successful" })
	if _, _, err := jobs.Scale("job", "g", new(0), "", false, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := jobs.Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	job.TaskGroups[0].Update.MinHealthyTime = new(time.Hour)
	job.TaskGroups[0].Update.HealthyDeadline, job.TaskGroups[0].Update.ProgressDeadline = new(2*time.Hour), new(3*time.Hour)
	register()
	versions, _, _, err := jobs.Versions("job", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range versions {
		got = append(got, fmt.Sprintf("%d stable %t stop %t", *v.Version, *v.Stable, *v.Stop))
	}
	want := []string{"3 stable false stop false", "2 stable true stop true", "1 stable true stop false", "0 stable true stop false"}
	if !slices.Equal(got, want) {
		t.Errorf("versions %q, want %q", got, want)
	}
}

// A failed allocation that was replaced no longer counts.
func TestReplacedAllocations(t *testing.T) {
	t.Parallel()
	job := newJob("job", "batch", newTask("main", "run_for", "1h"))
	failing := api.NewTaskGroup("failing", 1)
	failing.Tasks = []*api.Task{newTask("failing", "exit_code", 1)}
	failing.ReschedulePolicy = &api.ReschedulePolicy{
		Attempts: new(1), Interval: new(time.Hour), Delay: new(time.Minute), DelayFunction: new("constant"), Unlimited: new(false),
	}
	job.TaskGroups = append(job.TaskGroups, failing)
	job.Canonicalize()
	f := serve(t, job)
	f.untilStatus("failed")
	evaluation, _, err := f.client.Jobs().EvaluateWithOpts("job", api.EvalOptions{ForceReschedule: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.untilStatus("failed")
	if e, now := get[*api.Evaluation](f, "/v1/evaluation/"+evaluation), get[*api.Job](f, "/v1/job/job"); e.JobModifyIndex != *now.JobModifyIndex || e.JobModifyIndex == 0 {
		t.Errorf("the evaluation is of index %d, want %d", e.JobModifyIndex, *now.JobModifyIndex)
	}
	replaced := 0
	list := get[[]*api.AllocationListStub](f, "/v1/job/job/allocations")
	for _, a := range list {
		if a.NextAllocation == "" {
			continue
		}
		next := list[slices.IndexFunc(list, func(b *api.AllocationListStub) bool { return b.ID == a.NextAllocation })].RescheduleTracker
		if a.RescheduleTracker != nil || next == nil || next.LastReschedule != "ok" || len(next.Events) != 1 {
			t.Errorf("replacements before it %+v, after it %+v", a.RescheduleTracker, next)
		} else if e := next.Events[0]; e.PrevAllocID != a.ID || e.PrevNodeID != nodeID || e.RescheduleTime < a.CreateTime {
			t.Errorf("the replacement is %+v", e)
		}
		if replaced++; a.DesiredStatus != "stop" || a.DesiredDescription != "alloc was rescheduled because it failed" || a.ModifyTime <= a.CreateTime {
			t.Errorf("the replaced one is to %s (%s), times %d and %d", a.DesiredStatus, a.DesiredDescription, a.CreateTime, a.ModifyTime)
		}
	}
	placed := func(want string) {
		t.Helper()
		groups := get[api.JobScaleStatusResponse](f, "/v1/job/job/scale").TaskGroups
		if got := fmt.Sprint(groups["g"].Placed, groups["failing"].Placed); got != want {
			t.Errorf("placed are %s, want %s", got, want)
		}
	}
	placed("1 0") // ended allocations do not count
	if _, _, err := f.client.Jobs().Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	f.in("main", "dead")
	if replaced != 1 {
		t.Errorf("%d were replaced", replaced)
	}
	follow(f, "/v1/job/job/scale", func(s api.JobScaleStatusResponse) bool { return s.TaskGroups["g"].Placed == 0 })
}

// The answer to an order for a job has the index and the evaluation of the change.
func TestIndexesOfOrders(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	cron := newJob("cron", "batch", newTask("c"))
	cron.Periodic = &api.PeriodicConfig{Spec: new("0 0 1 1 *")}
	cron.Canonicalize()
	parent := newJob("parent", "batch", newTask("p", "run_for", "1h"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	for _, job := range []*api.Job{cron, parent, newJob("job", "service", newTask("t", "run_for", "1h"))} {
		if _, _, err := f.client.Jobs().Register(job, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"cron", "parent"} {
		if j := get[*api.Job](f, "/v1/job/"+id); *j.Status != "running" {
			t.Errorf("%s is %s", id, *j.Status)
		}
	}
	dispatched, meta, err := f.client.Jobs().Dispatch("parent", nil, nil, "", nil)
	if err != nil || dispatched.EvalCreateIndex < dispatched.JobCreateIndex || dispatched.JobCreateIndex == 0 || meta.LastIndex != dispatched.EvalCreateIndex {
		t.Errorf("dispatched: %+v at %+v, %v", dispatched, meta, err)
	}
	if e := get[*api.Evaluation](f, "/v1/evaluation/"+dispatched.EvalID); e.CreateIndex != dispatched.EvalCreateIndex {
		t.Errorf("its evaluation has index %d, want %d", e.CreateIndex, dispatched.EvalCreateIndex)
	}
	for id, evaluated := range map[string]bool{"job": true, "cron": false, "parent": false} {
		var answer struct {
			EvalID                                 string
			EvalCreateIndex, JobModifyIndex, Index uint64
		}
		meta, err := f.client.Raw().Delete("/v1/job/"+id, &answer, nil)
		if err != nil || answer.Index == 0 || answer.JobModifyIndex != answer.Index || meta.LastIndex != answer.Index ||
			(answer.EvalID != "") != evaluated || (answer.EvalCreateIndex == answer.Index) != evaluated || !evaluated && answer.EvalCreateIndex != 0 {
			t.Errorf("%s was stopped: %+v at %+v, %v", id, answer, meta, err)
		}
	}
	scale := "PUT /v1/job/job/scale "
	f.answers(t, map[string]string{
		scale + `{"Target":{"Group":"g","Namespace":"other"},"Count":1}`:   "400 namespace in payload did not match header",
		scale + `{"Target":{"Group":"g","Namespace":"default"},"Count":1}`: "200 {…",
		"GET /v1/node/pool/default/jobs?prefix=a":                          "400 prefix argument not allowed",
		"PUT /v1/job/parent/dispatch {}":                                   `500 Specified job "parent" is stopped`,
		`PUT /v1/job/job/evaluate {"EvalOptions":{}}`:                      "400 Job ID must be specified",
		"PUT /v1/job/cron/periodic/force":                                  `500 force launch for job "cron" failed: can't force run non-tracked job "cron" (default)`,
	})
}

// A plan says when a periodic job is launched next, if it is ever.
func TestPlanPeriodicJob(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for spec, launches := range map[string]bool{"@yearly": true, "0 0 30 2 *": false} {
		job := newJob("cron", "batch", newTask("c"))
		job.Periodic = &api.PeriodicConfig{Spec: &spec}
		job.Canonicalize()
		plan, _, err := f.client.Jobs().Plan(job, false, nil)
		if err != nil || plan.Diff != nil || plan.NextPeriodicLaunch.IsZero() == launches || launches && !plan.NextPeriodicLaunch.After(time.Now()) {
			t.Errorf("%s: %+v, %v", spec, plan, err)
		}
	}
}

// A dispatched job is checked as its child would be, with all of its metadata.
func TestDispatchThatIsRefused(t *testing.T) {
	t.Parallel()
	parent := newJob("parent", "batch", newTask("p"))
	parent.ParameterizedJob, parent.Meta = &api.ParameterizedJobConfig{MetaOptional: []string{"k"}}, map[string]string{"own": "1"}
	parent.Canonicalize()
	f := serveWith(t, func(c *httpapi.Config) {
		c.Preflight = func(order httpapi.Order, job *api.Job) jobspec.Diagnostics {
			if order != httpapi.OrderDispatch || job.Meta["k"] != "wrong" {
				return nil
			}
			return jobspec.Diagnostics{{Severity: jobspec.Error, Summary: "no stub for " + job.Meta["own"]}}
		}
	}, parent)
	_, _, err := f.client.Jobs().Dispatch("parent", map[string]string{"k": "wrong"}, nil, "", nil)
	refused(t, err, 500, "1 error:\n\n* no stub for 1")
	if _, _, err := f.client.Jobs().Dispatch("parent", map[string]string{"k": "right"}, nil, "", nil); err != nil {
		t.Error(err)
	}
	if j := get[*api.Job](f, "/v1/job/parent"); len(j.Meta) != 1 {
		t.Errorf("the parent has the metadata %v", j.Meta)
	}
}

// The largest accepted values are exactly the limits.
func TestLargestJobs(t *testing.T) {
	t.Parallel()
	f := serve(t)
	hcl := parsed + strings.Repeat(" ", 1<<20-len(parsed))
	if job, err := f.client.Jobs().ParseHCL(hcl, false); err != nil || *job.ID != "x" {
		t.Errorf("a job file of 1 MiB: %v", err)
	}
	list := func(of string, commas int) string { return "[" + strings.Repeat(of+",", commas) + of + "]" }
	const large = "400 the job is too large: it has "
	for body, want := range map[string]string{
		list("{}", 99_998): "400 json: cannot unmarshal array…", list("{}", 99_999): large + "100001 objects and lists with 99999 values, and 100000 with 1048576 are the most",
		list("1", 1<<20): "400 json: cannot unmarshal array…", list("1", 1<<20+1): large + "1 objects and lists with 1048577 values, and 100000 with 1048576 are the most",
	} {
		resp := f.do("PUT", "/v1/jobs", strings.NewReader(body))
		got := fmt.Sprintf("%d %s", resp.StatusCode, readAll(t, resp.Body))
		if begin, more := strings.CutSuffix(want, "…"); got != want && (!more || !strings.HasPrefix(got, begin)) {
			t.Errorf("%d bytes: %s, want %s", len(body), got, want)
		}
	}
}

// A run that is stopped at once does not wait for its shutdown_delay.
func TestStopTheRunWithoutDelay(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Tasks[0].ShutdownDelay = time.Hour
	var f *fixture
	f = serveWith(t, func(c *httpapi.Config) { c.StopRun = func(bool) { f.engine.Stop() } }, job)
	f.running("t")
	f.answers(t, map[string]string{"DELETE /v1/job/job?run=stop&no_shutdown_delay=true": `200 {"EvalID":"",…`})
	f.in("t", "dead")
}

// Jobs are found in the order of their IDs, and their namespaces once.
func TestOrderOfJobs(t *testing.T) {
	t.Parallel()
	var jobs []*api.Job
	var ids []string
	for i := range 9 {
		ids = append(ids, fmt.Sprint("job-", i))
		job := newJob(ids[i], "batch", newTask("t", "run_for", "1h"))
		job.Namespace = new("prod")
		jobs = append(jobs, job)
	}
	slices.Reverse(jobs)
	f := serve(t, jobs...)
	found, _, err := f.client.Search().PrefixSearch("job-", contexts.Jobs, &api.QueryOptions{Namespace: "prod"})
	if err != nil || !slices.Equal(found.Matches[contexts.Jobs], ids) {
		t.Errorf("%+v, %v", found, err)
	}
	if list := get[[]*api.Namespace](f, "/v1/namespaces"); len(list) != 2 {
		t.Errorf("%d namespaces", len(list))
	}
}
