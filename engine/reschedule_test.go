package engine_test

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// An order replaces at once an allocation that waits to be replaced and one
// that was given up, and no others.
func TestReschedule(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]*api.ReschedulePolicy{
		"waiting":  {Attempts: new(0), Unlimited: new(true), Delay: new(time.Hour), DelayFunction: new("constant"), MaxDelay: new(time.Hour)},
		"given up": {Attempts: new(0), Unlimited: new(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob("batch", newTask("fails", "run_for", "1s", "exit_code", 1))
			job.TaskGroups[0].ReschedulePolicy = policy
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
				20 * time.Second:       reschedule,
				30 * time.Second: func(e *engine.Engine) {
					e.Stop()
					if _, err := e.Handle("job").Evaluate(true); err == nil {
						t.Error("a job that is being stopped was rescheduled")
					}
				},
			})
			if n := len(h.events["fails"]); h.lasted > 31*time.Second || len(h.jobs) != 4 {
				t.Errorf("%d allocations, %d events, after %v:\n%q", len(h.jobs), n, h.lasted, h.status)
			}
		})
	}
}
