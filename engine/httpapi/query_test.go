package httpapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"

	"taskrun/engine/leaf/event"
)

func TestBlockingQueryIsAnsweredByTheChange(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h")))
	id := f.running("main").ID
	f.untilStatus("running")
	first, meta, err := f.client.Allocations().Info(id, nil)
	if err != nil {
		t.Fatal(err)
	}
	// An event published just after the state was read is a change, too: repeat
	// until nothing changes.
	for changed := true; changed; {
		last := meta.LastIndex
		_, meta, err = f.client.Allocations().Info(id, &api.QueryOptions{WaitIndex: last, WaitTime: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		changed = meta.LastIndex > last
	}
	answered := make(chan error, 1)
	go func() {
		a, next, err := f.client.Allocations().Info(id, &api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: patience})
		if err == nil && (next.LastIndex <= meta.LastIndex || len(a.TaskStates["main"].Events) == len(first.TaskStates["main"].Events)) {
			t.Errorf("answered index %d, after %d, without the change", next.LastIndex, meta.LastIndex)
		}
		answered <- err
	}()
	if err := f.client.Allocations().Signal(first, nil, "main", "SIGUSR1"); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) untilStatus(status string) {
	f.Helper()
	f.until(func(e event.Event) bool {
		s, ok := e.Body.(event.AllocStatus)
		return ok && s.Status == status
	})
}

func TestBlockingQueryEnds(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for name, tt := range map[string]struct{ opts api.QueryOptions }{
		"when its time has passed":            {api.QueryOptions{WaitIndex: 1, WaitTime: time.Millisecond}},
		"at once with an index of the future": {api.QueryOptions{WaitIndex: 1 << 40, WaitTime: time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			jobs, meta, err := f.client.Jobs().List(tt.opts.WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			if meta.LastIndex != 1 || !meta.KnownLeader || jobs == nil {
				t.Errorf("%v, %+v", jobs, meta)
			}
		})
	}
}

// Queries that wait for evaluations are answered when these are forgotten.
func TestBlockingQueryIsAnsweredByGarbageCollection(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("ended", "batch", newTask("e")), newJob("runs", "batch", newTask("r", "run_for", "1h")))
	f.running("r")
	f.untilJobIs("ended", "dead")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answered, paths := make(chan error), []string{"/v1/evaluations", "/v1/job/ended/evaluations"}
	for _, path := range paths {
		var list []*api.Evaluation
		meta, err := f.client.Raw().Query(path, &list, nil)
		if before := len(list); err != nil || before == 0 {
			t.Fatalf("GET %s: %d evaluations, %v", path, before, err)
		}
		go func() {
			for err := error(nil); ; {
				ended := slices.ContainsFunc(list, func(e *api.Evaluation) bool { return e.JobID == "ended" })
				if err != nil || !ended {
					answered <- err
					return
				}
				list = nil
				meta, err = f.client.Raw().Query(path, &list, (&api.QueryOptions{WaitIndex: meta.LastIndex}).WithContext(ctx))
			}
		}()
	}
	if err := f.client.System().GarbageCollect(); err != nil {
		t.Error(err)
	}
	for range paths {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

func TestServerEndsBlockingQueries(t *testing.T) {
	t.Parallel()
	f := serve(t)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _, _ = f.client.Jobs().List(&api.QueryOptions{WaitIndex: 1}) // would wait for five minutes
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := f.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-answered:
	case <-ctx.Done():
		t.Error("the query still blocks")
	}
}

func TestJobsArePagedByID(t *testing.T) {
	t.Parallel()
	f := serve(t,
		newJob("web", "service", newTask("a", "run_for", "1h")),
		newJob("web-2", "service", newTask("b", "run_for", "1h")),
		newJob("other", "service", newTask("c", "run_for", "1h")))
	var got []string
	opts := &api.QueryOptions{Prefix: "web", PerPage: 1}
	for {
		jobs, meta, err := f.client.Jobs().List(opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			got = append(got, j.ID)
		}
		if opts.NextToken = meta.NextToken; opts.NextToken == "" {
			break
		}
	}
	if len(got) != 2 || got[0] != "web" || got[1] != "web-2" {
		t.Errorf("got %q", got)
	}
}

// Dispatches with the same token are one, however often they are requested.
func TestDispatchOptions(t *testing.T) {
	t.Parallel()
	parent := newJob("param", "batch", newTask("main", "run_for", "1h"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	f := serve(t, parent)
	opts := &api.DispatchOptions{JobID: "param", IdPrefixTemplate: "nightly", Priority: 70}
	once := &api.WriteOptions{IdempotencyToken: "token"}
	first, _, err := f.client.Jobs().DispatchOpts(opts, once)
	if err != nil || !strings.HasPrefix(first.DispatchedJobID, "param/dispatch-nightly-") || first.EvalID == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	f.running("main")
	again, _, err := f.client.Jobs().DispatchOpts(opts, once)
	if err != nil || again.DispatchedJobID != first.DispatchedJobID || again.EvalID != "" {
		t.Errorf("%+v, %v", again, err)
	}
	if job, _, err := f.client.Jobs().Info(first.DispatchedJobID, nil); err != nil || *job.Priority != 70 {
		t.Errorf("%+v, %v", job, err)
	}
	other, _, err := f.client.Jobs().DispatchOpts(opts, nil)
	if err != nil || other.DispatchedJobID == first.DispatchedJobID {
		t.Errorf("%+v, %v", other, err)
	}
	if _, _, err := f.client.Jobs().DispatchOpts(opts, &api.WriteOptions{Namespace: "other"}); err == nil || !strings.Contains(err.Error(), "parameterized job not found") {
		t.Errorf("in another namespace: %v", err)
	}
	for _, bad := range []*api.DispatchOptions{{JobID: "param", Priority: 101}, {JobID: "param", IdPrefixTemplate: "../x"}} {
		if _, _, err := f.client.Jobs().DispatchOpts(bad, nil); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// Lists contain the requested parts of allocations and nodes.
func TestFlagsOfLists(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h")))
	f.running("main")
	for query, want := range map[string]struct{ resources, states bool }{
		"": {false, true}, "resources=true": {true, true}, "task_states=false": {false, false}, "resources=false&task_states=true": {false, true},
	} {
		for _, path := range []string{"/v1/allocations", "/v1/job/job/allocations"} {
			var list []*api.AllocationListStub
			if _, err := f.client.Raw().Query(path+"?"+query, &list, nil); err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if got := list[0]; (got.AllocatedResources != nil) != want.resources || (got.TaskStates != nil) != want.states {
				t.Errorf("%s?%s: %+v", path, query, got)
			}
		}
	}
	for query, want := range map[string]bool{"": false, "os=true": true} {
		var list []*api.NodeListStub
		if _, err := f.client.Raw().Query("/v1/nodes?"+query, &list, nil); err != nil || (list[0].Attributes != nil) != want {
			t.Errorf("nodes?%s: %+v, %v", query, list, err)
		}
	}
}

func TestDispatchedJobs(t *testing.T) {
	t.Parallel()
	parent := newJob("param", "batch", newTask("main", "run_for", "1h"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	f := serve(t, parent)
	resp, _, err := f.client.Jobs().Dispatch("param", nil, nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.running("main")
	f.untilStatus("running")
	// Its ID contains a slash, which the client escapes.
	job, _, err := f.client.Jobs().Info(resp.DispatchedJobID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if *job.ID != resp.DispatchedJobID || *job.ParentID != "param" || *job.Status != "running" {
		t.Errorf("%s of %s is %s", *job.ID, *job.ParentID, *job.Status)
	}
	allocs, _, err := f.client.Jobs().Allocations(resp.DispatchedJobID, false, nil)
	if err != nil || len(allocs) != 1 {
		t.Errorf("%d allocations, %v", len(allocs), err)
	}
	sum, _, err := f.client.Jobs().Summary("param", nil)
	if err != nil || sum.Children.Running != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	children, _, err := f.client.Jobs().PrefixList("param/dispatch-")
	if err != nil || len(children) != 1 || children[0].ParentID != "param" {
		t.Errorf("%v, %v", children, err)
	}
}

func TestAllocationsByPrefix(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h")))
	id := f.running("main").ID
	other := "00"
	if id[9:11] == other {
		other = "ff"
	}
	for prefix, want := range map[string]int{"": 1, id[:2]: 1, id[:8]: 1, id[:11]: 1, id: 1, id[:8] + other: 0} {
		list, _, err := f.client.Allocations().List(&api.QueryOptions{Prefix: prefix})
		if err != nil || len(list) != want {
			t.Errorf("prefix %q: %d allocations, %v; want %d", prefix, len(list), err, want)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h")))
	id := f.running("main").ID
	for prefix, want := range map[string]contexts.Context{"job": contexts.Jobs, id[:9]: contexts.Allocs, nodeID: contexts.Nodes} {
		found, _, err := f.client.Search().PrefixSearch(prefix, contexts.All, nil)
		if err != nil {
			t.Fatal(err)
		}
		for kind, ids := range found.Matches {
			if (len(ids) == 1) != (kind == want) {
				t.Errorf("%q: %s: %q", prefix, kind, ids)
			}
		}
	}
}

func TestReplacedAllocation(t *testing.T) {
	t.Parallel()
	job := newJob("job", "batch", newTask("main", "exit_code", 1))
	job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
		Attempts: new(1), Unlimited: new(false), Interval: new(time.Hour), Delay: new(5 * time.Second),
		DelayFunction: new("constant"), MaxDelay: new(time.Hour),
	}
	f := serve(t, job)
	failed := f.until(func(e event.Event) bool {
		s, ok := e.Body.(event.AllocStatus)
		return ok && s.Status == "failed" && s.Retry >= 0
	}).Alloc
	f.untilJobIs("job", "pending") // it waits for the replacement
	next := f.until(func(e event.Event) bool {
		s, ok := e.Body.(event.AllocStatus)
		return ok && s.Replaces == failed.ID && s.Status == "failed"
	}).Alloc
	f.untilJobIs("job", "dead")
	old, replacement := f.alloc(failed.ID), f.alloc(next.ID)
	if old.NextAllocation != next.ID || old.DesiredStatus != "stop" || replacement.PreviousAllocation != failed.ID {
		t.Errorf("next %q, desired %q, previous %q", old.NextAllocation, old.DesiredStatus, replacement.PreviousAllocation)
	}
	if old.CreateIndex >= replacement.CreateIndex {
		t.Errorf("indexes %d, %d", old.CreateIndex, replacement.CreateIndex)
	}
}

// A job whose deployment has not ended is running, also while nothing of it runs.
func TestStatusOfAJobInADeployment(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("main", "exit_code", 1))
	job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{Unlimited: new(true), Delay: new(time.Hour), DelayFunction: new("constant")}
	f := serve(t, job)
	f.until(func(e event.Event) bool {
		s, ok := e.Body.(event.AllocStatus)
		return ok && s.Status == "failed" && s.Retry >= 0
	})
	if j := get[*api.Job](f, "/v1/job/job"); *j.Status != "running" {
		t.Errorf("the job is %s", *j.Status)
	}
}

// untilJobIs follows a job by blocking queries until it has a status.
func (f *fixture) untilJobIs(id, status string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	for index := uint64(0); ; {
		job, meta, err := f.client.Jobs().Info(id, (&api.QueryOptions{WaitIndex: index}).WithContext(ctx))
		if err != nil {
			f.Fatal(err)
		}
		if *job.Status == status {
			return
		}
		index = meta.LastIndex
	}
}

func TestDeploymentIsFollowed(t *testing.T) {
	t.Parallel()
	job := newJob("job", "service", newTask("main", "run_for", "1h"))
	job.TaskGroups[0].Update.MinHealthyTime = new(time.Duration(0))
	f := serve(t, job)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for index := uint64(0); ; {
		d, meta, err := f.client.Jobs().LatestDeployment("job", (&api.QueryOptions{WaitIndex: index}).WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if d != nil && d.Status == "successful" {
			if g := d.TaskGroups["g"]; g.DesiredTotal != 1 || g.PlacedAllocs != 1 || g.HealthyAllocs != 1 {
				t.Errorf("%+v", g)
			}
			if d.CreateTime == 0 || d.ModifyTime <= d.CreateTime || d.ModifyIndex <= d.CreateIndex {
				t.Errorf("created at %d (%d), successful at %d (%d)", d.CreateTime, d.CreateIndex, d.ModifyTime, d.ModifyIndex)
			}
			return
		}
		index = meta.LastIndex
	}
}
