package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// changed returns a function that gives another version of a job to an engine.
func changed(t *testing.T, job *api.Job, change func(*api.Job)) func(*engine.Engine) {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return func(e *engine.Engine) {
		next := &api.Job{}
		if err := json.Unmarshal(text, next); err != nil {
			t.Error(err)
			return
		}
		change(next)
		next.Canonicalize()
		if _, err := e.Register(engine.Registration{Job: next}); err != nil {
			t.Error(err)
		}
	}
}

// A changed restart policy takes effect with the next allocation, as in Nomad.
func TestUpdateOfTheRestartPolicy(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "10s", "exit_code", 1))
	h := run(t, job, map[time.Duration]func(*engine.Engine){
		5 * time.Second: changed(t, job, func(job *api.Job) { restarts(job.TaskGroups[0].Tasks[0], 1, time.Second) }),
	})
	if diff := cmp.Diff([]string{"running", "dead"}, h.states["t"]); diff != "" {
		t.Errorf("the task's states (-want +got):\n%s", diff)
	}
}

// TestUpdateThatBringsADeployment checks that a job without a deployment gets
// one, which waits for the health of its new allocations.
func TestUpdateThatBringsADeployment(t *testing.T) {
	t.Parallel()
	job := newJob("service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Update = &api.UpdateStrategy{MaxParallel: new(0)}
	h := run(t, job, map[time.Duration]func(*engine.Engine){
		5 * time.Second:  changed(t, job, func(job *api.Job) { job.TaskGroups[0].Update.MaxParallel = new(1) }),
		10 * time.Second: func(e *engine.Engine) { _ = e.StopAlloc(only(e).ID, engine.AllocStop{}) },
		time.Minute: func(e *engine.Engine) {
			for _, a := range e.Allocs() {
				if a.Replaces != "" && (a.Healthy == nil || !*a.Healthy) {
					t.Errorf("the new allocation's health is %v", a.Healthy)
				}
			}
			e.Stop()
		},
	})
	want := []string{"5s running: Deployment is running", "20s successful: Deployment completed successfully"}
	if diff := cmp.Diff(want, h.deploy); diff != "" || h.lasted > 2*time.Minute {
		t.Errorf("it lasted %v, its deployment (-want +got):\n%s", h.lasted, diff)
	}
}
