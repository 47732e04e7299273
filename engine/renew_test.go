package engine_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// patiently runs a job in an engine that waits for changes, and calls f. It returns
// when tasks began to run, and the notices.
func patiently(t *testing.T, job *api.Job, f func(e *engine.Engine)) (starts []time.Duration, notes []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		job.Canonicalize()
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{}, Patient: true,
		})
		sub := e.Subscribe(false)
		began := time.Now()
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		f(e)
		e.Stop()
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for {
			n, ok := sub.Next(context.Background())
			if !ok {
				break
			}
			switch body := n.Body.(type) {
			case event.TaskState:
				if body.State == "running" {
					starts = append(starts, n.Time.Sub(began))
				}
			case event.Notice:
				notes = append(notes, body.Text)
			}
		}
	})
	return starts, notes
}

func TestRenew(t *testing.T) {
	t.Parallel()
	renew := func(t *testing.T, e *engine.Engine) {
		t.Helper()
		if err := e.Renew(context.Background(), e.Allocs()[0].ID, "t"); err != nil {
			t.Error(err)
		}
	}
	slow := newTask("t", "run_for", "1s", "exit_code", 1)
	slow.RestartPolicy = &api.RestartPolicy{Attempts: new(3), Interval: new(24 * time.Hour), Delay: new(time.Hour), Mode: new("fail")}
	for name, c := range map[string]struct {
		job  *api.Job
		want []time.Duration
	}{
		"a task that runs":                  {newJob("service", newTask("t", "run_for", "1h")), []time.Duration{0, time.Minute}},
		"a task that waits for its restart": {newJob("service", slow), []time.Duration{0, time.Minute}},
		"a task that has ended":             {newJob("batch", newTask("t", "run_for", "1s"), newTask("other", "run_for", "1h")), []time.Duration{0, 0, time.Minute, time.Minute}},
		"an allocation that has ended":      {newJob("batch", newTask("t", "run_for", "1s")), []time.Duration{0, time.Minute}},
		"an allocation that has failed":     {newJob("batch", newTask("t", "run_for", "1s", "exit_code", 1)), []time.Duration{0, time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			starts, _ := patiently(t, c.job, func(e *engine.Engine) {
				<-time.After(time.Minute)
				renew(t, e)
				<-time.After(100 * time.Millisecond)
			})
			if !slices.Equal(starts, c.want) {
				t.Errorf("tasks began after %v, want %v", starts, c.want)
			}
		})
	}
}

// A task that a user has stopped stays stopped when another task of its allocation is
// renewed.
func TestRenewLeavesStoppedTasksAlone(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "1s"), newTask("stopped", "run_for", "1h"))
	starts, _ := patiently(t, job, func(e *engine.Engine) {
		<-time.After(time.Second / 2)
		alloc := e.Allocs()[0]
		if err := alloc.StopTask(context.Background(), "stopped"); err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute)
		if err := e.Renew(context.Background(), alloc.ID, "t"); err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute)
		if halted, err := alloc.Halted("stopped"); !halted || err != nil {
			t.Error("it is no longer stopped:", err)
		}
	})
	if want := []time.Duration{0, 0, time.Minute + time.Second/2}; !slices.Equal(starts, want) {
		t.Errorf("tasks began after %v, want %v", starts, want)
	}
}

// A patient job stays when it has ended, and another version of it runs.
func TestPatientJob(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "1s", "exit_code", 1))
	starts, notes := patiently(t, job, func(e *engine.Engine) {
		<-time.After(time.Minute)
		next := newJob("batch", newTask("t", "run_for", "2s"))
		next.Canonicalize()
		if _, err := e.Register(engine.Registration{Job: next}); err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute)
	})
	if want := []time.Duration{0, time.Minute}; !slices.Equal(starts, want) {
		t.Errorf("tasks began after %v, want %v", starts, want)
	}
	ended := `job "job" has ended; it runs again when it changes`
	if want := []string{ended, `job "job": version 1`, ended}; !slices.Equal(notes, want) {
		t.Errorf("notices %q, want %q", notes, want)
	}
}
