package runner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// slow is a driver that takes an hour to find a task, and to forget it.
type slow struct{ *mock.Driver }

func (d slow) RecoverTask(handle *drivers.TaskHandle) error {
	pass(time.Hour)
	return d.Driver.RecoverTask(handle)
}

func (d slow) DestroyTask(id string, force bool) error {
	pass(time.Hour)
	return d.Driver.DestroyTask(id, force)
}

// recovered runs an allocation of the task until it is left after a minute. It returns
// the allocation of the next engine, which has the driver.
func recovered(t *testing.T, task *api.Task, next drivers.Driver, taskHooks ...*recorder) *setting {
	t.Helper()
	s := newSetting(t, task, nil, taskHooks...)
	s.leave(t, next)
	return s
}

// leave runs an allocation with the config until it is left after a minute, and makes
// it the allocation of the next engine, which has the driver.
func (s *setting) leave(t *testing.T, next drivers.Driver) {
	t.Helper()
	dir := t.TempDir()
	first, err := store.Create(&s.bus, dir, store.Change{})
	if err != nil {
		t.Fatal(err)
	}
	s.config.Recorder = first
	s.alloc = runner.New(s.config)
	result := s.run(t.Context())
	pass(time.Minute)
	s.alloc.Leave()
	<-result
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second, err := store.Open(&s.bus, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	s.config.Recorder, s.config.Drivers["mock_driver"] = second, next
	s.alloc = runner.Restore(s.config)
}

// A command for a task that the driver has not found yet waits for that.
func TestExecWaitsUntilTheTaskIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := recovered(t, mockTask(map[string]any{"run_for": "10h"}, 0), slow{mock.New()})
		result, begin := s.run(t.Context()), time.Now()
		_, err := s.alloc.Exec(t.Context(), "t", &drivers.ExecOptions{})
		if err == nil || err.Error() == `task "t" is not running.` || time.Since(begin) != time.Hour {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		s.alloc.Stop()
		<-result
		pass(10 * time.Hour) // until the first driver's task ends by itself
	})
}

// An order for a task that the driver has not found yet waits for that, too.
func TestOrdersWaitUntilTheTaskIsFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		give func(context.Context, *runner.Alloc) error
		told string // of the task's report
	}{
		"signal": {func(ctx context.Context, a *runner.Alloc) error { return a.Signal(ctx, "t", "SIGHUP") }, api.TaskSignaling},
		"restart of the task": {func(ctx context.Context, a *runner.Alloc) error {
			return a.RestartTask(ctx, "t", "", false)
		}, api.TaskRestartSignal},
		"restart of running tasks": {func(ctx context.Context, a *runner.Alloc) error { return a.Restart(ctx, false) }, api.TaskRestartSignal},
		"restart of all tasks":     {func(ctx context.Context, a *runner.Alloc) error { return a.Restart(ctx, true) }, api.TaskRestartSignal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := recovered(t, mockTask(map[string]any{"run_for": "10h"}, 0), slow{mock.New()})
				result, begin := s.run(t.Context()), time.Now()
				s.told()
				impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := tt.give(impatient, s.alloc); !errors.Is(err, context.DeadlineExceeded) {
					t.Error("for a minute:", err)
				}
				if err := tt.give(t.Context(), s.alloc); err != nil || time.Since(begin) < time.Hour {
					t.Errorf("after %v: %v", time.Since(begin), err)
				}
				if told := of(s.told(), "t"); len(told) == 0 || told[0] != tt.told {
					t.Errorf("the task reported %q, want %s", told, tt.told)
				}
				s.alloc.Stop()
				<-result
				pass(10 * time.Hour) // until the first driver's task ends by itself
			})
		})
	}
}

// Nothing has to be found of a task that waits for the delay of its restart.
func TestFoundDoesNotWaitForDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		task := mockTask(map[string]any{"run_for": "1s", "exit_code": 1}, 10)
		task.RestartPolicy.Delay, task.RestartPolicy.Interval = new(10*time.Hour), new(1000*time.Hour)
		s := recovered(t, task, mock.New())
		result, begin := s.run(t.Context()), time.Now()
		s.alloc.Found()
		if took := time.Since(begin); took > time.Second {
			t.Error("it took", took)
		}
		s.alloc.Stop()
		<-result
	})
}
