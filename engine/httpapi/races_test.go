package httpapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// Registrations of a job race stops and purges of it. Each order succeeds, and the
// job is that of the last registration.
func TestRegistrationsRaceStopsAndPurges(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	job := func(by string) *api.Job {
		j := newJob("job", "service", newTask("t", "run_for", "1h"))
		j.Meta = map[string]string{"by": by}
		return j
	}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for n := range 5 {
				var err error
				switch worker {
				case 0:
					_, _, err = f.client.Jobs().Deregister("job", false, nil)
				case 1:
					_, _, err = f.client.Jobs().Deregister("job", true, nil)
				default:
					var answer *api.JobRegisterResponse
					answer, _, err = f.client.Jobs().Register(job(fmt.Sprint(worker, n)), nil)
					if err == nil && (answer.EvalID == "" || answer.EvalCreateIndex == 0) {
						t.Errorf("registered without an evaluation: %+v", answer)
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	last := f.submit(job("last"), nil)
	j := get[*api.Job](f, "/v1/job/job")
	if j.Meta["by"] != "last" || *j.Stop || *j.JobModifyIndex != last.JobModifyIndex {
		t.Errorf("at the end: %+v of version %d, stop %t", j.Meta, *j.Version, *j.Stop)
	}
	follow(f, "/v1/job/job/allocations", func(list []*api.AllocationListStub) bool {
		running := 0
		for _, a := range list {
			if a.ClientStatus == "running" && a.DesiredStatus == "run" && a.JobVersion == *j.Version {
				running++
			}
		}
		return running == 1
	})
	if jobs, _, err := f.client.Jobs().List(nil); err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

// A job that is too large is refused, and leaves nothing behind.
func TestLargeRegistrations(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	tasks := newJob("tasks", "service")
	for i := range 10_000 {
		tasks.TaskGroups[0].Tasks = append(tasks.TaskGroups[0].Tasks, newTask(fmt.Sprint("t", i)))
	}
	count := newJob("count", "service", newTask("t"))
	count.TaskGroups[0].Count = new(1 << 30)
	for _, job := range []*api.Job{tasks, count} {
		if _, _, err := f.client.Jobs().Register(job, nil); err == nil {
			t.Errorf("%s: registered", *job.ID)
		}
	}
	source := &api.JobSubmission{Source: strings.Repeat("x", 2<<20), Format: "hcl2"}
	if answer := f.submit(newJob("source", "service", newTask("t", "run_for", "1h")), &api.RegisterOptions{Submission: source}); !strings.Contains(answer.Warnings, "larger than 1 MiB") {
		t.Errorf("warnings %q", answer.Warnings)
	}
	if _, _, err := f.client.Jobs().Submission("source", 0, nil); err == nil {
		t.Error("the source is kept")
	}
	if jobs, _, err := f.client.Jobs().List(nil); err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}
