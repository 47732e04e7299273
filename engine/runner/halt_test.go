package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// halted returns an allocation in which a test stops the task "web".
func halted(t *testing.T, tasks ...*api.Task) (s *setting, result <-chan runner.Result) {
	t.Helper()
	s = newSetting(t, mockTask(nil, 0), nil)
	s.renew(tasks...)
	result = s.run(t.Context())
	pass(time.Minute)
	s.told()
	return s, result
}

// carriedOut reports an error of an order that should have been carried out.
func carriedOut(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func (s *setting) want(t *testing.T, what string, states map[string]string) {
	t.Helper()
	state := s.alloc.State()
	got := map[string]string{}
	for name, task := range state.Tasks {
		got[name] = task.State
		if task.State == "pending" && event.Halted(task.Events) {
			got[name] += ", stopped"
		}
	}
	if diff := cmp.Diff(states, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A task that a user stops is not started by its policy, and its siblings continue.
func TestTaskIsStoppedUntilItIsStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := named("web", "1000h", nil)
		web.Leader = true
		s, result := halted(t, web, named("side", "1000h", &api.TaskLifecycle{Hook: "prestart", Sidecar: true}), named("db", "1000h", nil))
		carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
		s.want(t, "when it has returned", map[string]string{"web": "pending, stopped", "side": "running", "db": "running"})
		pass(100 * time.Hour)
		s.want(t, "long after", map[string]string{"web": "pending, stopped", "side": "running", "db": "running"})
		if got := s.told(); !slices.Equal(got, []string{"web Pausing", "web Terminated"}) {
			t.Errorf("events of the stop: %q", got)
		}
		if h, err := s.alloc.Halted("web"); !h || err != nil {
			t.Error("it is not said to be stopped:", err)
		}
		if _, err := s.alloc.Exec(t.Context(), "web", &drivers.ExecOptions{}); err == nil || err.Error() != `task "web" is stopped` {
			t.Error("exec:", err)
		}
		carriedOut(t, s.alloc.StartTask("web"))
		pass(time.Second)
		s.want(t, "started", map[string]string{"web": "running", "side": "running", "db": "running"})
		if got := s.told(); !slices.Equal(got, []string{"web Running", "web Started"}) {
			t.Errorf("events of the start: %q", got)
		}
		if state := s.alloc.State(); state.Status != "running" || state.Tasks["web"].Restarts != 0 || state.Tasks["web"].Failed {
			t.Errorf("%+v", state.Tasks["web"])
		}
		s.alloc.Stop()
		if r := <-result; r.Status != "complete" {
			t.Error(r.Status)
		}
	})
}

func TestOrdersThatCannotStopOrStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, result := halted(t, named("web", "1000h", nil), named("early", "10h", &api.TaskLifecycle{Hook: "poststart"}),
			named("late", "1s", &api.TaskLifecycle{Hook: "poststop"}), named("init", "1s", &api.TaskLifecycle{Hook: "prestart"}))
		stop := func(task string) error { return s.alloc.StopTask(t.Context(), task) }
		check := func(err error, want string) {
			t.Helper()
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		check(stop("nobody"), "Task not found")
		check(s.alloc.StartTask("nobody"), "Task not found")
		check(stop("early"), `task "early" cannot be stopped alone: it is a poststart task, and other tasks wait for its end`)
		check(stop("late"), `task "late" cannot be stopped alone: it is a poststop task, and other tasks wait for its end`)
		check(stop("init"), `task "init" cannot be stopped alone: it is a prestart task, and other tasks wait for its end`)
		check(s.alloc.StartTask("web"), `task "web" was not stopped: it is running`)
		check(s.alloc.StartTask("init"), `task "init" has ended: only its whole allocation can start again`)
		carriedOut(t, stop("web"))
		check(stop("web"), `task "web" is stopped already`)
		check(s.alloc.RestartTask(t.Context(), "web", "", false), "Task not running")
		check(s.alloc.Signal(t.Context(), "web", "SIGHUP"), "Task not running")
		s.alloc.Stop()
		if r := <-result; r.Status != "complete" {
			t.Error(r.Status)
		}
		s.want(t, "after the end of the allocation", map[string]string{"web": "dead", "early": "dead", "late": "dead", "init": "dead"})
		check(stop("web"), "Task not running")
		check(s.alloc.StartTask("web"), "Task not running")
	})
}

// A task that ends with its allocation cannot be stopped alone.
func TestNoStopDuringTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := named("web", "1000h", nil)
		web.ShutdownDelay = time.Minute
		s, result := halted(t, web)
		s.alloc.Stop()
		synctest.Wait()
		if err := s.alloc.StopTask(t.Context(), "web"); err == nil || err.Error() != `task "web" is already being stopped, with its allocation` {
			t.Error(err)
		}
		<-result
	})
}

// A task may be stopped at any point of its run. The allocation's end ends it, too.
func TestTaskIsStoppedAtAnyPoint(t *testing.T) {
	t.Parallel()
	running := func() *api.Task { return named("web", "1000h", nil) }
	crashing := func() *api.Task {
		task := mockTask(map[string]any{"run_for": "1s", "exit_code": 1}, 1000)
		task.Name, task.RestartPolicy.Delay, task.RestartPolicy.Interval = "web", new(time.Hour), new(10000*time.Hour)
		return task
	}
	starting := func() *api.Task {
		task := named("web", "1000h", nil)
		task.Config["start_block_for"] = "10m"
		return task
	}
	delayed := func() *api.Task {
		task := named("web", "1000h", nil)
		task.ShutdownDelay = time.Hour
		return task
	}
	for name, c := range map[string]struct {
		web   func() *api.Task
		init  bool   // a prestart task, for which it waits
		again string // its state, a second after the order to start
		wait  bool   // the order waits for the shutdown_delay
	}{
		"running":              {web: running, again: "running"},
		"waiting to restart":   {web: crashing, again: "running"},
		"starting":             {web: starting, again: "pending"},
		"with shutdown_delay":  {web: delayed, again: "running", wait: true},
		"not yet let to start": {web: running, init: true, again: "running"},
	} {
		for _, kill := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					tasks := []*api.Task{c.web()}
					if c.init {
						tasks = append(tasks, named("init", "2h", &api.TaskLifecycle{Hook: "prestart"}))
					}
					s, result := halted(t, tasks...)
					before := time.Now()
					carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
					if took := time.Since(before); (took == time.Hour) != c.wait {
						t.Error("it took", took)
					}
					for range 10 {
						pass(time.Hour)
						if state := s.alloc.State(); state.Tasks["web"].State != "pending" || state.Tasks["web"].Failed {
							t.Fatalf("%+v", state.Tasks["web"])
						}
					}
					if !kill {
						carriedOut(t, s.alloc.StartTask("web"))
						pass(time.Second / 2)
						if state := s.alloc.State(); state.Tasks["web"].State != c.again {
							t.Error("started, it is", state.Tasks["web"].State)
						}
					}
					s.alloc.SkipShutdownDelay()
					s.alloc.Stop()
					if r := <-result; r.Status != "complete" {
						t.Error(r.Status)
					}
				})
			})
		}
	}
}

// A stopped task is announced as such once it has ended, and until it may start.
func TestStatesOfAStoppedTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := named("web", "1000h", nil)
		web.Config["kill_after"], web.KillTimeout = "5s", new(time.Minute)
		s, result := halted(t, web)
		states := func() (got []string) {
			for s.events.Ready() {
				e, _ := s.events.Next(t.Context())
				if state, ok := e.Body.(event.TaskState); ok {
					got = append(got, fmt.Sprint(state.State, " ", state.Halted))
				}
			}
			return got
		}
		carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
		if got := states(); !slices.Equal(got, []string{"pending true"}) {
			t.Errorf("stopped: %q", got)
		}
		carriedOut(t, s.alloc.StartTask("web"))
		pass(time.Second)
		if got := states(); !slices.Equal(got, []string{"pending false", "running false"}) {
			t.Errorf("started: %q", got)
		}
		carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
		s.alloc.Stop()
		<-result
		if got := states(); !slices.Equal(got, []string{"pending true", "dead false"}) {
			t.Errorf("at the end: %q", got)
		}
		if _, err := s.alloc.Halted("nobody"); !errors.Is(err, runner.ErrUnknownTask) {
			t.Error(err)
		}
	})
}

// The verdict on an allocation's health waits for a stopped task, which makes it
// neither healthy nor unhealthy.
func TestStoppedTaskPutsOffTheHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(nil, 0), nil)
		s.config.Group.Update = api.DefaultUpdateStrategy()
		s.renew(named("web", "1000h", nil))
		result := s.run(t.Context())
		pass(time.Second)
		carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
		pass(time.Hour)
		if h := s.alloc.State().Healthy; h != nil {
			t.Error("there is a verdict:", *h)
		}
		carriedOut(t, s.alloc.StartTask("web"))
		pass(time.Minute)
		if h := s.alloc.State().Healthy; h == nil || !*h {
			t.Error("it is not healthy")
		}
		s.alloc.Stop()
		<-result
	})
}

// The restart of a whole allocation starts its stopped tasks, too.
func TestRestartOfAllTasksStartsStoppedOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, result := halted(t, named("web", "1000h", nil), named("db", "1000h", nil))
		carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
		carriedOut(t, s.alloc.Restart(t.Context(), false))
		pass(time.Second)
		s.want(t, "running tasks restarted", map[string]string{"web": "pending, stopped", "db": "running"})
		carriedOut(t, s.alloc.Restart(t.Context(), true))
		pass(time.Second)
		s.want(t, "all tasks restarted", map[string]string{"web": "running", "db": "running"})
		s.alloc.Stop()
		<-result
	})
}

// A task that a user has stopped stays stopped when its allocation starts again,
// and the other tasks start without it.
func TestStoppedTaskStaysStoppedWhenItsAllocationIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, result := halted(t, named("side", "1000h", &api.TaskLifecycle{Hook: "prestart", Sidecar: true}), named("web", "1000h", nil),
			named("db", "1000h", nil), named("init", "1s", &api.TaskLifecycle{Hook: "prestart"}), named("after", "1000h", &api.TaskLifecycle{Hook: "poststart", Sidecar: true}))
		carriedOut(t, s.alloc.StopTask(t.Context(), "side"))
		carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
		carriedOut(t, s.alloc.Renew(t.Context()))
		pass(time.Minute)
		s.want(t, "renewed", map[string]string{"side": "pending, stopped", "web": "pending, stopped", "db": "running", "init": "dead", "after": "running"})
		if got := s.alloc.State().Tasks["init"].Restarts; got != 1 {
			t.Error("restarts of the task that had ended:", got)
		}
		carriedOut(t, s.alloc.StartTask("side"))
		carriedOut(t, s.alloc.StartTask("web"))
		pass(time.Second)
		s.want(t, "started", map[string]string{"side": "running", "web": "running", "db": "running", "init": "dead", "after": "running"})
		s.alloc.Stop()
		<-result
	})
}

// An engine dies at each record of a stop and a start. Under the next engine the
// task is in the state that was ordered.
func TestStopAndStartSurviveTheEngine(t *testing.T) {
	t.Parallel()
	for _, start := range []bool{false, true} {
		for death := 1; ; death++ {
			died := false
			synctest.Test(t, func(t *testing.T) { died = dieDuring(t, start, death) })
			if !died {
				if death < 2 {
					t.Error("there was no record to die at")
				}
				break
			}
		}
	}
}

// dieDuring reports whether there were that many records during the order.
func dieDuring(t *testing.T, start bool, death int) (died bool) {
	t.Helper()
	s, dir := newSetting(t, mockTask(map[string]any{"run_for": "1000h"}, 0), nil), t.TempDir()
	first, err := store.Create(&s.bus, dir, store.Change{})
	if err != nil {
		t.Fatal(err)
	}
	s.config.Recorder = first
	s.alloc = runner.New(s.config)
	result := s.run(t.Context())
	pass(time.Second)
	if start {
		carriedOut(t, s.alloc.StopTask(t.Context(), "t"))
	}
	pass(time.Second)
	points := 0
	first.HaltWhen(func() bool { points++; died = died || points > death; return points > death })
	ordered, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if start {
		_ = s.alloc.StartTask("t")
	} else {
		_ = s.alloc.StopTask(ordered, "t")
	}
	pass(time.Second)
	s.alloc.Leave()
	<-result
	s.taskEvents()

	second, err := store.Open(&s.bus, dir)
	if err != nil {
		t.Fatal(err)
	}
	s.driver = mock.New() // the task continues as it did when the engine died
	s.config.Recorder, s.config.Drivers["mock_driver"] = second, s.driver
	s.alloc = runner.Restore(s.config)
	result = s.run(t.Context())
	pass(time.Minute)
	want := map[bool]string{false: "pending, stopped", true: "running"}[start]
	s.want(t, "recovered", map[string]string{"t": want})
	if got := s.alloc.State().Tasks["t"]; got.Restarts != 0 || got.Failed {
		t.Errorf("death %d: %+v", death, got)
	}
	if !start {
		carriedOut(t, s.alloc.StartTask("t"))
		pass(time.Minute)
		s.want(t, "started", map[string]string{"t": "running"})
	}
	s.alloc.Stop()
	<-result
	pass(2000 * time.Hour) // until the first driver's task ends by itself
	for _, r := range []*store.Recorder{first, second} {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if said := strings.Join(s.said(), "\n"); strings.Contains(said, "failed") {
		t.Error(said)
	}
	return died
}

// A task ends by itself just before a user stops it. A restart of the whole
// allocation starts it again.
func TestStoppedTaskThatHasEndedCanStartAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(nil, 0), nil)
		s.config.Job.Type = new("batch")
		s.config.Drivers["mock_driver"] = slow{s.driver}
		s.renew(named("web", "1m", nil), named("db", "1000h", nil))
		result := s.run(t.Context())
		pass(2 * time.Minute)
		carriedOut(t, s.alloc.StopTask(t.Context(), "web"))
		pass(2 * time.Hour)
		s.want(t, "when it has ended", map[string]string{"web": "dead", "db": "running"})
		if err := s.alloc.StopTask(t.Context(), "web"); err == nil || err.Error() != `task "web" has ended` {
			t.Error(err)
		}
		carriedOut(t, s.alloc.Restart(t.Context(), true))
		pass(time.Hour + time.Second) // all tasks start again at once
		if got := s.alloc.State().Tasks["web"].State; got != "running" {
			t.Error("it is", got)
		}
		s.alloc.Stop()
		<-result
	})
}

// The driver of a task goes away while the task is being stopped. The order is still
// answered.
func TestStopIsAnsweredIfTheDriverGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := named("web", "1000h", nil)
		web.Config["kill_after"], web.Config["plugin_exit_after"] = "1m", "90s"
		web.KillTimeout = new(time.Minute)
		s, result := halted(t, web)
		ordered, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		carriedOut(t, s.alloc.StopTask(ordered, "web"))
		s.want(t, "when it has returned", map[string]string{"web": "pending, stopped"})
		s.alloc.Stop()
		<-result
	})
}
