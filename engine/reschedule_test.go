package engine_test

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// An order replaces at once an allocation that waits to be replaced and one
// that was given up, and no others; as in Nomad only if the policy replaces
// allocations at all.
func TestReschedule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy *api.ReschedulePolicy
		placed int // with the one that lives
	}{
		"waiting":  {&api.ReschedulePolicy{Attempts: new(0), Unlimited: new(true), Delay: new(time.Hour), DelayFunction: new("constant"), MaxDelay: new(time.Hour)}, 4},
		"given up": {&api.ReschedulePolicy{Attempts: new(1), Interval: new(time.Hour), Unlimited: new(false), Delay: new(time.Second), DelayFunction: new("constant")}, 5},
		"disabled": {&api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob("batch", newTask("fails", "run_for", "1s", "exit_code", 1))
			job.TaskGroups[0].ReschedulePolicy = tt.policy
			living := api.NewTaskGroup("living", 1)
			living.Tasks = []*api.Task{newTask("lives", "run_for", "1h")}
			job.TaskGroups = append(job.TaskGroups, living)
			reschedule := func(e *engine.Engine) {
				if _, err := e.Handle("job").Evaluate(true); err != nil {
					t.Error(err)
				}
			}
			h := run(t, job, map[time.Duration]func(*engine.Engine){
				500 * time.Millisecond: reschedule, // nothing has failed yet
				10 * time.Second:       reschedule,
				20 * time.Second:       func(e *engine.Engine) { reschedule(e); reschedule(e) },
				30 * time.Second: func(e *engine.Engine) {
					e.Stop()
					if _, err := e.Handle("job").Evaluate(true); err == nil {
						t.Error("a job that is being stopped was rescheduled")
					}
				},
			})
			if n := len(h.events["fails"]); h.lasted > 31*time.Second || len(h.jobs) != tt.placed {
				t.Errorf("%d allocations, %d events, after %v:\n%q", len(h.jobs), n, h.lasted, h.status)
			}
		})
	}
}

// The replacement of an allocation that a user has stopped can fail as often as the
// first one.
func TestStopForgetsReplacements(t *testing.T) {
	t.Parallel()
	job := newJob("service", newTask("fails", "run_for", "10s", "exit_code", 1))
	job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
		Attempts: new(1), Interval: new(time.Hour), Unlimited: new(false), Delay: new(time.Second), DelayFunction: new("constant"),
	}
	h := run(t, job, map[time.Duration]func(*engine.Engine){
		15 * time.Second: func(e *engine.Engine) { // the second one runs
			for _, a := range e.Allocs() {
				if err := e.StopAlloc(a.ID, engine.AllocStop{}); err != nil {
					t.Error(err)
				}
			}
		},
	})
	if len(h.jobs) != 4 || h.lasted != 36*time.Second {
		t.Errorf("%d allocations in %v:\n%q", len(h.jobs), h.lasted, h.status)
	}
}

// Nothing replaces an allocation of a failed deployment, neither its policy nor an
// order. One that waited to be replaced is given up.
func TestFailedDeployment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		check    string // health_check
		progress time.Duration
		why      string
		placed   int
	}{
		"late":             {"task_states", 20 * time.Second, "Failed due to progress deadline", 2},
		"at once":          {"task_states", 0, "Failed due to unhealthy allocations", 1},
		"health by a user": {"manual", 0, "Failed due to unhealthy allocations", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob("service", newTask("fails", "run_for", "10s", "exit_code", 1))
			group := job.TaskGroups[0]
			group.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(true), Delay: new(time.Second), DelayFunction: new("constant"), MaxDelay: new(time.Hour)}
			group.Update = &api.UpdateStrategy{
				MaxParallel: new(1), HealthCheck: &tt.check, MinHealthyTime: new(15 * time.Second),
				HealthyDeadline: new(20 * time.Second), ProgressDeadline: &tt.progress,
			}
			living := api.NewTaskGroup("living", 1)
			living.Tasks = []*api.Task{newTask("lives", "run_for", "1h")}
			living.Update = &api.UpdateStrategy{MaxParallel: new(0)}
			job.TaskGroups = append(job.TaskGroups, living)
			var status string
			h := run(t, job, map[time.Duration]func(*engine.Engine){
				50 * time.Second: func(e *engine.Engine) {
					if _, err := e.Handle("job").Evaluate(true); err != nil {
						t.Error(err)
					}
					d := e.Handle("job").Deployments()[0]
					status = d.Status + ": " + d.Description
				},
				time.Minute: stop,
			})
			if len(h.jobs) != tt.placed+1 || status != "failed: "+tt.why {
				t.Errorf("%d allocations, the deployment %s:\n%q", len(h.jobs), status, h.status)
			}
		})
	}
}

// An allocation that was given up only because of its deployment is replaced, as
// its policy says, once the job has changed: immediately if its delay is over,
// otherwise later. One that the policy gave up is not.
func TestChangeAfterAFailedDeployment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		attempts        int
		change, replace time.Duration
	}{
		"late":  {0, 2 * time.Minute, 2 * time.Minute},
		"early": {0, 20 * time.Second, 70 * time.Second},
		"never": {-1, 2 * time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob("service", newTask("fails", "run_for", "10s", "exit_code", 1))
			group := job.TaskGroups[0]
			group.ReschedulePolicy = &api.ReschedulePolicy{
				Attempts: new(0), Unlimited: new(tt.attempts == 0), Delay: new(time.Minute), DelayFunction: new("constant"), MaxDelay: new(time.Hour),
			}
			group.Update = &api.UpdateStrategy{
				MaxParallel: new(1), MinHealthyTime: new(15 * time.Second), HealthyDeadline: new(20 * time.Second), ProgressDeadline: new(time.Duration(0)),
			}
			living := api.NewTaskGroup("living", 1)
			living.Tasks = []*api.Task{newTask("lives", "run_for", "1h")}
			living.Update = &api.UpdateStrategy{MaxParallel: new(0)}
			job.TaskGroups = append(job.TaskGroups, living)
			allocs := func(want int) func(*engine.Engine) {
				return func(e *engine.Engine) {
					list := e.Allocs()
					if len(list) != want {
						t.Errorf("%d allocations, want %d", len(list), want)
					}
					for _, a := range list {
						if a.Replaces != "" && !a.Reschedules(a.Replaces) {
							t.Errorf("the new one replaces others: %+v", a.Replacements)
						}
					}
				}
			}
			run(t, job, map[time.Duration]func(*engine.Engine){
				tt.change - time.Second:                        allocs(2),
				tt.change:                                      changed(t, job, func(job *api.Job) { job.Priority = new(70) }),
				tt.replace - 500*time.Millisecond:              allocs(2),
				min(tt.replace, 3*time.Minute) + 9*time.Second: allocs(map[bool]int{true: 2, false: 3}[tt.attempts < 0]),
				4 * time.Minute:                                stop,
			})
		})
	}
}
