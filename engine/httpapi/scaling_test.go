package httpapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// Policies of groups and tasks are found by job, type and ID.
func TestScalingPolicies(t *testing.T) {
	t.Parallel()
	policy := func(kind string) *api.ScalingPolicy {
		return &api.ScalingPolicy{Min: new(int64(1)), Max: new(int64(9)), Type: kind}
	}
	job := func(id, namespace string) *api.Job {
		task := newTask("t", "run_for", "1h")
		task.ScalingPolicies = []*api.ScalingPolicy{policy("vertical_cpu"), policy("vertical_mem")}
		job := newJob(id, "service", task)
		job.Namespace, job.TaskGroups[0].Scaling = &namespace, policy("horizontal")
		job.TaskGroups[0].Scaling.Enabled = new(false)
		job.Canonicalize()
		return job
	}
	vertical := job("c", "test") // its group is not scaled, one of its tasks is
	vertical.TaskGroups[0].Scaling, vertical.TaskGroups[0].Tasks[0].ScalingPolicies = nil, []*api.ScalingPolicy{policy("vertical_cpu")}
	f := serve(t, job("a", "default"), job("b", "prod"), vertical, newJob("d", "service", newTask("t", "run_for", "1h")))
	if p := get[*api.Job](f, "/v1/job/c?namespace=test").TaskGroups[0].Tasks[0].ScalingPolicies; len(p) != 1 || p[0].ID == "" || p[0].Target["Task"] != "t" {
		t.Errorf("policies of the task: %+v", p)
	}
	all := get[[]*api.ScalingPolicyListStub](f, "/v1/scaling/policies")
	f.sorted("/v1/scaling/policies?", func(p map[string]any) string { return p["ID"].(string) })
	for query, want := range map[string]int{
		"": 7, "namespace=test": 1, "job=d": 0, "job=a": 3, "job=a&type=vertical": 2, "type=horizontal": 2, "type=vertical_mem": 2, "namespace=prod": 3, "namespace=none": 0,
		"prefix=" + all[0].ID: 1, "prefix=x": 0, "job=none": 0,
	} {
		if list := get[[]any](f, "/v1/scaling/policies?"+query); len(list) != want {
			t.Errorf("%q: %d policies, want %d", query, len(list), want)
		}
	}
	for _, stub := range all {
		p := get[*api.ScalingPolicy](f, "/v1/scaling/policy/"+stub.ID)
		if *p.Enabled == (p.Type == "horizontal") || stub.Enabled != *p.Enabled || p.Target["Group"] != "g" || (p.Target["Task"] == "t") == (p.Type == "horizontal") ||
			p.Namespace != "" || p.CreateIndex == 0 || p.ModifyIndex == 0 {
			t.Errorf("%+v", p)
		}
	}
	shown := get[*api.Job](f, "/v1/job/a?namespace=default")
	if p := shown.TaskGroups[0].Tasks[0].ScalingPolicies; len(p) != 2 || p[0].ID == "" || p[0].ID == p[1].ID {
		t.Errorf("in the job: %+v", p)
	}
}

// A deployment counts allocations that are marked as healthy and unhealthy by
// hand.
func TestHealthInTheScaleStatus(t *testing.T) {
	t.Parallel()
	job := deployable(3, "a", func(u *api.UpdateStrategy) { u.HealthCheck, u.MaxParallel = new("manual"), new(3) })
	job.TaskGroups[0].Update.AutoRevert = new(false)
	other := *job.TaskGroups[0]
	other.Name, other.Count = new("other"), new(1)
	job.TaskGroups = append(job.TaskGroups, &other)
	f := serve(t, job)
	d := follow(f, "/v1/job/job/deployment", func(d *api.Deployment) bool {
		return d != nil && d.TaskGroups["g"].PlacedAllocs == 3 && d.TaskGroups["other"].PlacedAllocs == 1
	})
	var ids []string
	for _, a := range get[[]*api.AllocationListStub](f, "/v1/deployment/allocations/"+d.ID) {
		if a.TaskGroup == "g" {
			ids = append(ids, a.ID)
		}
	}
	if _, _, err := f.client.Deployments().SetAllocHealth(d.ID, ids[:2], ids[2:], nil); err != nil {
		t.Fatal(err)
	}
	status := get[api.JobScaleStatusResponse](f, "/v1/job/job/scale")
	for name, want := range map[string]api.TaskGroupScaleStatus{"g": {Desired: 3, Placed: 3, Healthy: 2, Unhealthy: 1}, "other": {Desired: 1, Placed: 1}} {
		got := status.TaskGroups[name]
		if got.Running = 0; !cmp.Equal(want, got) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if a := f.alloc(ids[2]); a.DeploymentStatus == nil || *a.DeploymentStatus.Healthy || a.DeploymentStatus.Canary || a.DeploymentStatus.ModifyIndex == 0 {
		t.Errorf("the unhealthy one: %+v", a.DeploymentStatus)
	}
}

// A job that is being stopped cannot be scaled.
func TestScaleOfAJobThatStops(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h", "kill_after", "1h")))
	f.running("t")
	f.engine.Stop()
	_, _, err := f.client.Jobs().Scale("job", "g", new(2), "more", false, nil, nil)
	if want := `cannot change job "job": it is being stopped`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
