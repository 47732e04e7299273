package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

func limited(t *testing.T, limit int) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Config{
		DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
		Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{}, MaxAllocs: limit,
	})
	t.Cleanup(func() { _ = e.Close(context.Background()) }) // t.Context has ended then
	return e
}

func TestJobsWithTooManyAllocationsAreRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"service", "batch", "system", "sysbatch"} {
		for limit, want := range map[int]string{0: "at most 10000 allocations", 3: "at most 3 allocations"} {
			e := limited(t, limit)
			job := newJob(kind, newTask("t"))
			job.TaskGroups[0].Count = new(2_000_000_000)
			job.Canonicalize()
			if _, err := e.Plan(job); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("plan of a %s job: %v", kind, err)
			}
			if err := e.Submit(job); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("submit of a %s job: %v", kind, err)
			}
		}
	}
}

// TestRunningJobsStayBelowTheLimit tries to exceed the limit with another
// version and with scaling.
func TestRunningJobsStayBelowTheLimit(t *testing.T) {
	t.Parallel()
	e := limited(t, 3)
	version := func(count int) *api.Job {
		job := newJob("batch", newTask("t", "run_for", "1h"))
		job.TaskGroups[0].Count = &count
		job.Canonicalize()
		return job
	}
	if err := e.Submit(version(1)); err != nil {
		t.Fatal(err)
	}
	const want = "at most 3 allocations"
	if _, err := e.Register(engine.Registration{Job: version(4)}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("update: %v", err)
	}
	for _, count := range []int64{4, 2_000_000_000, 1<<63 - 1} {
		if _, err := e.Handle("job").Scale(engine.Scaling{Group: "g", Count: &count}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("scale to %d: %v", count, err)
		}
	}
	if allocs := e.Allocs(); len(allocs) > 1 {
		t.Errorf("%d allocations", len(allocs))
	}
	e.Kill()
}
