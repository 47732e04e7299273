package httpapi_test

import (
	"strings"
	"testing"

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
		if got := *plan.Annotations.DesiredTGUpdates["g"]; got != c.want || plan.Diff.Type != c.kind {
			t.Errorf("%s: %s, %+v, want %s, %+v", name, plan.Diff.Type, got, c.kind, c.want)
		}
	}
}

// What a run cannot do is refused, and said.
func TestWhatARunRefuses(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	_, _, register := f.client.Jobs().Register(job, nil)
	_, _, scale := f.client.Jobs().Scale("job", "g", new(2), "", false, nil, nil)
	_, _, unknown := f.client.Jobs().Scale("nope", "g", new(2), "", false, nil, nil)
	job.Type = new("nonsense")
	_, _, plan := f.client.Jobs().Plan(job, true, nil)
	for _, c := range []struct {
		err  error
		want string
	}{
		{register, "501 (taskrun does not change the jobs of a run"},
		{scale, "501 (taskrun does not change the jobs of a run"},
		{unknown, `404 (job "nope" not found)`},
		{plan, "500 (1 error:"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}
