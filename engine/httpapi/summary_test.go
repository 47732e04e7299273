package httpapi_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// A summary counts the allocations of each group by state, and the children of
// a parameterized job by theirs.
func TestSummaries(t *testing.T) {
	t.Parallel()
	group := func(name string, task *api.Task) *api.TaskGroup {
		g := api.NewTaskGroup(name, 1)
		g.Tasks = []*api.Task{task}
		g.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
		return g
	}
	waits := newTask("waits")
	waits.Templates = []*api.Template{{EmbeddedTmpl: new(`{{ with nomadVar "none" }}{{ end }}`), DestPath: new("local/out")}}
	job := newJob("job", "batch", newTask("runs", "run_for", "1h"))
	job.TaskGroups = append(job.TaskGroups, group("failed", newTask("fails", "exit_code", 1)), group("complete", newTask("ends")), group("starting", waits))
	job.Canonicalize()
	parent := func(id string, retry *api.ReschedulePolicy, config ...any) *api.Job {
		p := newJob(id, "batch", newTask(id, config...))
		p.ParameterizedJob, p.TaskGroups[0].ReschedulePolicy = &api.ParameterizedJobConfig{}, retry
		p.Canonicalize()
		return p
	}
	never := &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	f := serve(t, job,
		parent("dead", never), parent("running", never, "run_for", "1h"),
		parent("pending", &api.ReschedulePolicy{
			Unlimited: new(true), Delay: new(time.Hour), DelayFunction: new("constant"), MaxDelay: new(time.Hour),
		}, "exit_code", 1))
	for _, id := range []string{"dead", "running", "pending"} {
		if _, _, err := f.client.Jobs().Dispatch(id, nil, nil, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]api.JobSummary{
		"job": {Summary: map[string]api.TaskGroupSummary{
			"g": {Running: 1}, "failed": {Failed: 1}, "complete": {Complete: 1}, "starting": {Starting: 1},
		}, Children: &api.JobChildrenSummary{}},
		"dead":    {Summary: map[string]api.TaskGroupSummary{"g": {}}, Children: &api.JobChildrenSummary{Dead: 1}},
		"running": {Summary: map[string]api.TaskGroupSummary{"g": {}}, Children: &api.JobChildrenSummary{Running: 1}},
		"pending": {Summary: map[string]api.TaskGroupSummary{"g": {}}, Children: &api.JobChildrenSummary{Pending: 1}},
	} {
		got := follow(f, "/v1/job/"+id+"/summary", func(now *api.JobSummary) bool {
			return cmp.Equal(want.Summary, now.Summary) && cmp.Equal(want.Children, now.Children)
		})
		if got.JobID != id || got.Namespace != "default" || got.CreateIndex == 0 || got.ModifyIndex == 0 {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if n := get[api.AgentSelf](f, "/v1/agent/self").Stats["client"]["num_allocations"]; n != "3" { // one of them is of a child
		t.Errorf("%s allocations live, want 3", n)
	}
}
