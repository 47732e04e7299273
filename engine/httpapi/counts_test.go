package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A job with an impossible count is refused at every endpoint, before any work
// for each of its allocations.
func TestTooLargeCounts(t *testing.T) {
	t.Parallel()
	const huge = 2_000_000_000
	job := func(change func(*api.Job)) *api.Job {
		j := newJob("job", "service", newTask("main", "run_for", "1h"))
		change(j)
		return j
	}
	canary := job(func(j *api.Job) {
		j.TaskGroups[0].Update = &api.UpdateStrategy{Canary: new(huge)}
		j.Canonicalize()
	})
	sum := job(func(j *api.Job) {
		other := *j.TaskGroups[0]
		other.Name, other.Count = new("other"), new(9_999)
		j.TaskGroups[0].Count = new(2)
		j.TaskGroups = append(j.TaskGroups, &other)
	})
	count := job(func(j *api.Job) { j.TaskGroups[0].Count = new(huge) })
	parent := newJob("parent", "batch", newTask("child", "run_for", "1h"))
	parent.ParameterizedJob, parent.TaskGroups[0].Count = &api.ParameterizedJobConfig{}, new(huge)

	f := serveUnderFire(t)
	jobs := f.client.Jobs()
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "at most 10000 allocations") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for name, j := range map[string]*api.Job{"count": count, "canary": canary, "sum": sum, "parameterized": parent} {
		_, _, err := jobs.Register(j, nil)
		refused("register "+name, err)
		_, _, err = jobs.Plan(j, true, nil)
		refused("plan "+name, err)
		answer, _, err := jobs.Validate(j, nil)
		if err != nil || !strings.Contains(answer.Error, "at most 10000 allocations") {
			t.Errorf("validate %s: %+v, %v", name, answer, err)
		}
	}
	_, _, err := jobs.Plan(job(func(j *api.Job) { j.ID, j.TaskGroups[0].Count = new("new"), new(huge) }), true, nil)
	refused("plan of a job that is not running", err)
	_, _, err = jobs.Scale("parent", "g", new(huge), "", false, nil, nil)
	refused("scale", err)
	if !strings.Contains(err.Error(), "400") {
		t.Errorf("scale: %v", err)
	}
	f.undisturbed()
}

// Preserved counts are checked, too.
func TestPreservedCounts(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	more := newJob("job", "service", newTask("main", "run_for", "1h"))
	other := *more.TaskGroups[0]
	other.Name, other.Count = new("other"), new(10_000)
	more.TaskGroups[0].Count = new(0)
	more.TaskGroups = append(more.TaskGroups, &other)
	_, _, err := f.client.Jobs().RegisterOpts(more, &api.RegisterOptions{PreserveCounts: true}, nil)
	if err == nil || !strings.Contains(err.Error(), "at most 10000 allocations") {
		t.Errorf("it is registered: %v", err)
	}
	f.undisturbed()
}
