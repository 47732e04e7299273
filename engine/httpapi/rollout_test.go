package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// deployable returns a version of a service that depends on a value.
func deployable(count int, value string, change func(*api.UpdateStrategy)) *api.Job {
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	g := job.TaskGroups[0]
	g.Count = &count
	g.Tasks[0].Env = map[string]string{"VALUE": value}
	g.Update.MinHealthyTime = new(time.Millisecond)
	change(g.Update)
	job.Canonicalize()
	return job
}

func asIs(*api.UpdateStrategy) {}

// deployed waits, like clients, until a deployment is as expected.
func (f *fixture) deployed(id string, enough func(*api.Deployment) bool) *api.Deployment {
	f.Helper()
	index := uint64(0)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		d, meta, err := f.client.Deployments().Info(id, &api.QueryOptions{WaitIndex: index, WaitTime: patience})
		if err != nil {
			f.Fatal(err)
		}
		if enough(d) {
			return d
		}
		index = meta.LastIndex
	}
	f.Fatalf("deployment %s does not come so far", id)
	return nil
}

func in(status string) func(*api.Deployment) bool {
	return func(d *api.Deployment) bool { return d.Status == status }
}

// register makes a version the newest and returns the ID of its deployment.
func (f *fixture) register(job *api.Job) string {
	f.Helper()
	answer, _, err := f.client.Jobs().Register(job, nil)
	if err != nil {
		f.Fatal(err)
	}
	return f.deploymentOf(answer.EvalID)
}

func (f *fixture) deploymentOf(evaluation string) string {
	f.Helper()
	e, _, err := f.client.Evaluations().Info(evaluation, nil)
	if err != nil || e.DeploymentID == "" {
		f.Fatalf("the evaluation's deployment is %+v, %v", e, err)
	}
	return e.DeploymentID
}

// A job is updated from version to version according to its update block, which
// a client can follow.
func TestRollOut(t *testing.T) {
	t.Parallel()
	f := serve(t, deployable(2, "a", asIs))
	f.running("t")
	first, _, err := f.client.Jobs().LatestDeployment("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.deployed(first.ID, in("successful"))

	second := f.register(deployable(2, "b", asIs))
	d := f.deployed(second, in("successful"))
	if g := d.TaskGroups["g"]; d.JobVersion != 1 || g.PlacedAllocs != 2 || g.HealthyAllocs != 2 || g.DesiredTotal != 2 {
		t.Errorf("version %d, %+v", d.JobVersion, g)
	}
	allocs, _, err := f.client.Deployments().Allocations(second, nil)
	if err != nil || len(allocs) != 2 || allocs[0].JobVersion != 1 || allocs[0].DeploymentStatus == nil || !*allocs[0].DeploymentStatus.Healthy {
		t.Errorf("allocations %+v, %v", allocs, err)
	}
	old, _, err := f.client.Deployments().Allocations(first.ID, nil)
	if err != nil || len(old) != 2 || old[0].DesiredStatus != "stop" || old[0].DesiredDescription != "alloc is being updated due to job update" || old[0].NextAllocation == "" {
		t.Errorf("those before %+v, %v", old, err)
	}
	evaluations, _, err := f.client.Jobs().Evaluations("job", nil)
	why := map[string]bool{}
	for _, e := range evaluations {
		why[e.TriggeredBy] = true
	}
	if err != nil || !why["job-register"] || !why["deployment-watcher"] || why["alloc-failure"] {
		t.Errorf("evaluations by %v, %v", why, err)
	}
	if all, _, err := f.client.Deployments().List(nil); err != nil || len(all) != 2 {
		t.Errorf("deployments %+v, %v", all, err)
	}

	f.sorted("/v1/deployments?", func(d map[string]any) string { return d["ID"].(string) })
	if list, _, err := f.client.Jobs().Deployments("job", false, nil); err != nil || len(list) != 2 || list[0].ID != second || list[1].ID != first.ID {
		t.Errorf("deployments of the job, newest first: %+v, %v", list, err)
	}
	if d.CreateIndex <= 1 || d.ModifyIndex <= d.CreateIndex || d.ModifyTime < d.CreateTime || d.CreateTime == 0 {
		t.Errorf("the deployment of index %d was changed at %d; times %d and %d", d.CreateIndex, d.ModifyIndex, d.CreateTime, d.ModifyTime)
	}

	versions, diffs, _, err := f.client.Jobs().Versions("job", true, nil)
	if err != nil || len(versions) != 2 || len(diffs) != 1 || *versions[0].Version != 1 || !*versions[1].Stable {
		t.Fatalf("versions %+v, %+v, %v", versions, diffs, err)
	}
	if old, now := versions[1], versions[0]; *old.Status != "running" || *old.Stop || *old.CreateIndex != *now.CreateIndex || *old.JobModifyIndex >= *now.JobModifyIndex {
		t.Errorf("the older version is %s, with index %d; the newer one has %d", *old.Status, *old.JobModifyIndex, *now.JobModifyIndex)
	}
	if fields := diffs[0].TaskGroups[0].Tasks[0].Fields; len(fields) != 1 || fields[0].Old != "a" || fields[0].New != "b" {
		t.Errorf("they differ by %+v", fields)
	}
	answer, _, err := f.client.Jobs().Revert("job", 0, new(uint64(1)), nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	f.deployed(f.deploymentOf(answer.EvalID), in("successful"))
	if j, _, err := f.client.Jobs().Info("job", nil); err != nil || *j.Version != 2 || j.TaskGroups[0].Tasks[0].Env["VALUE"] != "a" {
		t.Errorf("version %d, %v", *j.Version, err)
	}
}

func TestDeploymentOrders(t *testing.T) {
	t.Parallel()
	f := serve(t, deployable(2, "a", asIs))
	first := f.running("t")
	follow(f, "/v1/job/job/deployment", func(d *api.Deployment) bool { return d != nil && d.Status == "successful" })
	canary := f.register(deployable(2, "b", func(u *api.UpdateStrategy) { u.Canary = new(1) }))
	d := f.deployed(canary, func(d *api.Deployment) bool { return d.TaskGroups["g"].HealthyAllocs == 1 })
	if g := d.TaskGroups["g"]; len(g.PlacedCanaries) != 1 || g.DesiredCanaries != 1 || g.Promoted {
		t.Errorf("%+v", g)
	} else if a := f.alloc(g.PlacedCanaries[0]); !a.DeploymentStatus.Canary || a.ClientStatus != "running" || a.Metrics.NodesEvaluated != 1 {
		t.Errorf("the canary is %+v, placed on one of %d nodes", a.DeploymentStatus, a.Metrics.NodesEvaluated)
	}
	if a := f.alloc(first.ID); a.DesiredStatus != "run" {
		t.Errorf("the first is to %s", a.DesiredStatus)
	}
	if g := get[api.JobScaleStatusResponse](f, "/v1/job/job/scale").TaskGroups["g"]; g.Placed != 2 || g.Running != 2 || g.Healthy != 2 {
		t.Errorf("the canary counts for the scaling: %+v", g)
	}
	if _, _, err := f.client.Deployments().Pause(canary, true, nil); err != nil {
		t.Error(err)
	}
	f.deployed(canary, in("paused"))
	if _, _, err := f.client.Deployments().PromoteGroups(canary, []string{"g"}, nil); err != nil {
		t.Error(err)
	}
	if _, _, err := f.client.Deployments().Pause(canary, false, nil); err != nil {
		t.Error(err)
	}
	f.deployed(canary, in("successful"))

	by := f.register(deployable(2, "c", func(u *api.UpdateStrategy) { u.HealthCheck, u.AutoRevert = new("manual"), new(true) }))
	f.deployed(by, func(d *api.Deployment) bool { return d.TaskGroups["g"].PlacedAllocs == 1 })
	allocs, _, err := f.client.Deployments().Allocations(by, nil)
	if err != nil || len(allocs) != 1 {
		t.Fatalf("allocations %+v, %v", allocs, err)
	}
	if _, _, err := f.client.Deployments().SetAllocHealth(by, []string{allocs[0].ID}, nil, nil); err != nil {
		t.Error(err)
	}
	f.deployed(by, func(d *api.Deployment) bool {
		return d.TaskGroups["g"].HealthyAllocs == 1 && d.TaskGroups["g"].PlacedAllocs == 2
	})
	failed, _, err := f.client.Deployments().Fail(by, nil)
	if err != nil || failed.RevertedJobVersion == nil || *failed.RevertedJobVersion != 1 {
		t.Errorf("it was failed: %+v, %v", failed, err)
	}
	d = f.deployed(by, in("failed"))
	if d.StatusDescription != "Deployment marked as failed - rolling back to job version 1" {
		t.Error(d.StatusDescription)
	}
	if _, _, err := f.client.Deployments().PromoteAll(by, nil); err == nil {
		t.Error("promoted what has failed")
	}
}

// A failed deployment reverts to a version that is stable, which an order decides, too.
func TestStability(t *testing.T) {
	t.Parallel()
	f := serve(t, deployable(1, "a", asIs))
	f.running("t")
	follow(f, "/v1/job/job/deployment", func(d *api.Deployment) bool { return d != nil && d.Status == "successful" })
	isStable := func(want bool) {
		t.Helper()
		versions, _, _, err := f.client.Jobs().Versions("job", false, nil)
		if err != nil || *versions[len(versions)-1].Stable != want {
			t.Errorf("version 0: stable is not %t, %v", want, err)
		}
	}
	isStable(true)
	answer, meta, err := f.client.Jobs().Stable("job", 0, false, nil)
	if err != nil || meta.LastIndex <= 1 || answer.JobModifyIndex != 0 {
		t.Errorf("%+v, %+v, %v", answer, meta, err)
	}
	isStable(false)
	by := f.register(deployable(1, "b", func(u *api.UpdateStrategy) { u.HealthCheck, u.AutoRevert = new("manual"), new(true) }))
	if _, _, err := f.client.Deployments().Fail(by, nil); err != nil {
		t.Error(err)
	}
	d := f.deployed(by, in("failed"))
	if d.StatusDescription != "Deployment marked as failed - no stable job version to auto revert to" {
		t.Error(d.StatusDescription)
	}
	if _, _, err := f.client.Jobs().Stable("job", 0, true, nil); err != nil {
		t.Error(err)
	}
	isStable(true)
}

// An order that does not revert a deployment names no version, even if the
// deployment is itself the reversion to an earlier one.
func TestOrdersForAReversion(t *testing.T) {
	t.Parallel()
	f := serve(t, deployable(1, "a", asIs))
	f.running("t")
	f.deployed(f.register(deployable(1, "b", asIs)), in("successful"))
	f.deployed(f.register(deployable(1, "c", func(u *api.UpdateStrategy) { u.HealthCheck = new("manual") })), in("running"))
	reverted, _, err := f.client.Jobs().Revert("job", 1, nil, nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	f.deployed(f.deploymentOf(reverted.EvalID), in("successful"))
	manual, _, err := f.client.Jobs().Revert("job", 2, nil, nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	id := f.deploymentOf(manual.EvalID)
	f.deployed(id, in("running"))
	paused, meta, err := f.client.Deployments().Pause(id, true, nil)
	if err != nil || paused.RevertedJobVersion != nil || paused.EvalID == "" {
		t.Fatalf("paused: %+v, %v", paused, err)
	}
	if index := paused.EvalCreateIndex; index <= 1 || paused.DeploymentModifyIndex != index || meta.LastIndex != index {
		t.Errorf("paused: %+v at %d", paused, meta.LastIndex)
	}
	_, _, err = f.client.Deployments().SetAllocHealth(id, []string{nodeID}, []string{nodeID}, nil)
	refused(t, err, 500, "unknown")
}

func TestScale(t *testing.T) {
	t.Parallel()
	job := deployable(1, "a", asIs)
	job.TaskGroups[0].Scaling = &api.ScalingPolicy{Min: new(int64(1)), Max: new(int64(3)), Type: "horizontal"}
	job.Canonicalize()
	f := serve(t, job)
	policies, _, err := f.client.Scaling().ListPolicies(nil)
	if err != nil || len(policies) != 1 || policies[0].Target["Group"] != "g" {
		t.Fatalf("policies %+v, %v", policies, err)
	}
	if p, _, err := f.client.Scaling().GetPolicy(policies[0].ID, nil); err != nil || *p.Max != 3 || !*p.Enabled {
		t.Errorf("policy %+v, %v", p, err)
	}
	if _, _, err := f.client.Scaling().GetPolicy("nope", nil); err == nil {
		t.Error("there is another one")
	}
	shown, _, err := f.client.Jobs().Info("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := shown.TaskGroups[0].Scaling; p.ID != policies[0].ID || p.Target["Group"] != "g" || p.Target["Job"] != "job" || p.Target["Namespace"] != "default" {
		t.Errorf("the policy in the job: %+v", p)
	}
	f.running("t")
	d, _, err := f.client.Jobs().LatestDeployment("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.deployed(d.ID, in("successful"))
	for count, want := range map[int]string{
		0: "400 (group count was less than scaling policy minimum: 0 < 1)",
		4: "400 (group count was greater than scaling policy maximum: 4 > 3)",
	} {
		if _, _, err := f.client.Jobs().Scale("job", "g", &count, "", false, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("scaled to %d: %v", count, err)
		}
	}
	_, meta, err := f.client.Jobs().ScaleStatus("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	noted, _, err := f.client.Jobs().Scale("job", "g", nil, "only said", true, map[string]any{"k": "v"}, nil)
	if err != nil || noted.EvalID != "" {
		t.Fatalf("%+v, %v", noted, err)
	}
	after := &api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: time.Minute}
	if status, now, err := f.client.Jobs().ScaleStatus("job", after); err != nil || len(status.TaskGroups["g"].Events) != 1 || now.LastIndex <= meta.LastIndex {
		t.Errorf("a query that waits for another index than %d sees %+v at %d, %v", meta.LastIndex, status, now.LastIndex, err)
	}
	answer, _, err := f.client.Jobs().Scale("job", "g", new(3), "more", false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.deployed(f.deploymentOf(answer.EvalID), in("successful"))
	status, _, err := f.client.Jobs().ScaleStatus("job", nil)
	if err != nil {
		t.Fatal(err)
	}
	g := status.TaskGroups["g"]
	if g.Desired != 3 || g.Placed != 3 || g.Running != 3 || g.Healthy != 3 || len(g.Events) != 2 ||
		g.Events[0].Message != "more" || g.Events[0].PreviousCount != 1 || !g.Events[1].Error {
		t.Errorf("%+v", g)
	}
}

// A canary registers its services with the canary tags until it is promoted.
func TestServicesOfCanaries(t *testing.T) {
	t.Parallel()
	job := func(value string) *api.Job {
		job := deployable(1, value, func(u *api.UpdateStrategy) { u.Canary = new(1) })
		job.TaskGroups[0].Services = []*api.Service{{
			Name: "web", Provider: "nomad", Tags: []string{"live"}, CanaryTags: []string{"canary"},
		}}
		job.Canonicalize()
		return job
	}
	f := serve(t, job("a"))
	first := f.running("t")
	index := uint64(0)
	tags := func(q *api.QueryOptions) map[string]string { // of allocations
		found := map[string]string{}
		services, meta, err := f.client.Services().Get("web", q)
		if err != nil {
			t.Fatal(err)
		}
		index = meta.LastIndex
		for _, s := range services {
			found[s.AllocID] = strings.Join(s.Tags, " ")
		}
		return found
	}
	id := f.register(job("b"))
	d := f.deployed(id, func(d *api.Deployment) bool { return d.TaskGroups["g"].HealthyAllocs == 1 })
	canary := d.TaskGroups["g"].PlacedCanaries[0]
	if got := tags(nil); got[first.ID] != "live" || got[canary] != "canary" {
		t.Errorf("before the promotion %v", got)
	}
	// The groups do not count if all are promoted.
	f.answers(t, map[string]string{"PUT /v1/deployment/promote/" + id + ` {"DeploymentID":"` + id + `","All":true,"Groups":["none"]}`: "200 {…"})
	f.deployed(id, in("successful"))
	got := tags(nil)
	for deadline := time.Now().Add(patience); (len(got) != 1 || got[canary] != "live") && time.Now().Before(deadline); {
		got = tags(&api.QueryOptions{WaitIndex: index, WaitTime: patience})
	}
	if len(got) != 1 || got[canary] != "live" {
		t.Errorf("after the promotion %v", got)
	}
}
