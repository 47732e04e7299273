package runner_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/hooks"
)

// A task keeps what a hook has given it under the next engine. Only the first call of
// a hook is for a task that already runs, and only that call outlives the kill.
func TestHooksOfARecoveredTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := 0
		giver := &recorder{name: "giver", prestart: func(_ context.Context, _ *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			given++
			r.Done, r.Env, r.Secrets = true, map[string]string{"GIVEN": "env"}, map[string]string{"secret.a.b": "secret"}
			r.Mounts, r.Devices = []drivers.Mount{{HostPath: "/a", TaskPath: "/b"}}, []drivers.Device{{HostPath: "/dev/a"}}
			r.VaultToken, r.IdentityTokens = "vault", map[string]string{"aud": "identity"}
			return nil
		}}
		var seen []string
		var last context.Context
		watcher := &recorder{name: "watcher", prestart: func(ctx context.Context, req *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			last = ctx
			env := req.Env.Map()
			seen = append(seen, fmt.Sprintf("%v %s: %s %s %s %s", req.Recovered, req.State["n"], env["GIVEN"], env["NOMAD_TOKEN_aud"], req.VaultToken,
				req.Env.Replace("${secret.a.b}")))
			r.State = map[string]string{"n": fmt.Sprint(len(seen))}
			return nil
		}}
		next := &listener{Driver: mock.New()}
		s := recovered(t, mockTask(map[string]any{"run_for": "10h"}, 0), next, giver, watcher)
		result := s.run(t.Context())
		s.alloc.Found()
		found := last
		if err := s.alloc.RestartTask(t.Context(), "t", "", false); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		synctest.Wait()
		const rest = ": env identity vault secret"
		if diff := cmp.Diff([]string{"false " + rest, "true 1" + rest, "false 2" + rest}, seen); diff != "" {
			t.Errorf("the hook saw (-want +got):\n%s", diff)
		}
		if given != 1 {
			t.Errorf("a hook that is done was called %d times", given)
		}
		if cfg := next.last; cfg == nil || len(cfg.Mounts) != 1 || cfg.Mounts[0].HostPath != "/a" || len(cfg.Devices) != 1 || cfg.Env["GIVEN"] != "env" {
			t.Errorf("it was started again with %+v", cfg)
		}
		s.alloc.Stop()
		<-result
		if found.Err() != nil || last.Err() == nil {
			t.Errorf("after the kill: %v for the task that was found, %v for the one that was started", found.Err(), last.Err())
		}
		pass(10 * time.Hour) // until the first driver's task ends by itself
	})
}

// forgetful is a driver that finds no task, and counts those that it is told to forget.
type forgetful struct {
	*mock.Driver
	err       error
	destroyed int
}

func (d *forgetful) RecoverTask(handle *drivers.TaskHandle) error {
	if d.err != nil {
		return d.err
	}
	return d.Driver.RecoverTask(handle)
}

func (d *forgetful) DestroyTask(id string, force bool) error {
	d.destroyed++
	return d.Driver.DestroyTask(id, force)
}

// A task that is not found starts again, which is not a restart. One that is found
// cannot continue if a hook fails, which is a failed start.
func TestTasksThatCannotGoOn(t *testing.T) {
	t.Parallel()
	const began = "Task started by client"
	for name, tt := range map[string]struct {
		driver    func(*forgetful) drivers.Driver
		found     error // of the driver
		hook      error // for a task that runs already
		attempts  int
		want      []string
		restarts  uint64
		destroyed int
	}{
		"not found":          {found: drivers.ErrTaskNotFound, want: []string{"failed to restore task; it starts again: task not found for given id", began}, destroyed: 1},
		"not to be found":    {driver: func(d *forgetful) drivers.Driver { return plain{d} }, want: []string{`failed to restore task; it starts again: driver "mock_driver" cannot find its tasks again`, began}, destroyed: 1},
		"not found nor seen": {found: drivers.ErrTaskNotFound, hook: errBroken, want: []string{"failed to restore task; it starts again: task not found for given id", began}, destroyed: 1},
		"a hook fails":       {hook: drivers.Recoverable(errBroken), attempts: 1, want: []string{"h: broken", "Task restarting in 1.", began}, restarts: 1, destroyed: 1},
		"a hook fails it": {
			hook: errBroken, attempts: 1, destroyed: 1,
			want: []string{"h: broken", "Error was unrecoverable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &recorder{name: "h", prestart: func(_ context.Context, req *hooks.PrestartRequest, _ *hooks.PrestartResponse) error {
					if req.Recovered {
						return tt.hook
					}
					return nil
				}}
				d := &forgetful{Driver: mock.New(), err: tt.found}
				var next drivers.Driver = d
				if tt.driver != nil {
					next = tt.driver(d)
				}
				task := mockTask(map[string]any{"run_for": "10h"}, tt.attempts)
				s := recovered(t, task, next, h)
				s.taskEvents()
				result := s.run(t.Context())
				pass(10 * time.Second)
				synctest.Wait()
				if got := s.taskEvents(); !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
					t.Errorf("events %q, want %q", got, tt.want)
				}
				if state := s.alloc.State().Tasks["t"]; state.Restarts != tt.restarts || d.destroyed != tt.destroyed {
					t.Errorf("%d restarts; the driver forgot %d tasks", state.Restarts, d.destroyed)
				}
				s.alloc.Stop()
				<-result
				pass(10 * time.Hour) // until the first driver's task ends by itself
			})
		})
	}
}

// The delay of a restart continues under the next engine, for the rest of its time.
// Hurry ends it, and has no other effect.
func TestDelayGoesOnUnderTheNextEngine(t *testing.T) {
	t.Parallel()
	for _, hurry := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			task := mockTask(map[string]any{"run_for": "10s", "exit_code": 1}, 10)
			task.RestartPolicy.Delay, task.RestartPolicy.Interval = new(time.Hour), new(1000*time.Hour)
			s := recovered(t, task, mock.New())
			texts := s.taskEvents()
			text, _ := strings.CutPrefix(texts[len(texts)-1], "Task restarting in ")
			delay, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			result := s.run(t.Context())
			synctest.Wait()
			if hurry {
				if s.alloc.Hurry("nobody") || !s.alloc.Hurry("t") {
					t.Error("the task that waits is not hurried")
				}
				synctest.Wait()
				if s.alloc.Hurry("t") {
					t.Error("a task that runs is hurried")
				}
			} else {
				at := begin.Add(10*time.Second + delay)
				pass(time.Until(at) - time.Millisecond)
				if got := s.told(); got != nil {
					t.Errorf("before the end of its delay of %v: %q", delay, got)
				}
				pass(time.Second)
			}
			if got := s.told(); !slices.Equal(got, []string{"t Started"}) {
				t.Errorf("events %q", got)
			}
			s.alloc.Stop()
			<-result
		})
	}
}

// A task that had ended stays dead under the next engine, and reports nothing; a
// restart of all tasks starts it again.
func TestDeadTaskUnderTheNextEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(nil, 0), nil)
		s.config.Group.Tasks = []*api.Task{named("init", "1s", &api.TaskLifecycle{Hook: "prestart"}), named("web", "10h", nil)}
		s.config.Job.Canonicalize()
		s.leave(t, mock.New())
		before := s.alloc.State()
		s.told()
		result := s.run(t.Context())
		pass(time.Minute)
		s.want(t, "recovered", map[string]string{"init": "dead", "web": "running"})
		state := s.alloc.State()
		if got := s.told(); got != nil || !state.Modified.Equal(before.Modified) || !before.Modified.After(before.Created) {
			t.Errorf("it told %q; created %v, changed %v and %v", got, before.Created, before.Modified, state.Modified)
		}
		carriedOut(t, s.alloc.Restart(t.Context(), true))
		pass(time.Minute)
		s.want(t, "restarted", map[string]string{"init": "dead", "web": "running"})
		if got := of(s.told(), "init"); !slices.Equal(got, []string{api.TaskRestartSignal, api.TaskRestarting, api.TaskStarted, api.TaskTerminated}) {
			t.Errorf("the restart told %q", got)
		}
		s.alloc.Stop()
		<-result
		pass(10 * time.Hour) // until the first driver's task ends by itself
	})
}

// An engine dies while it stops an allocation. The next engine does not end tasks
// again that had ended before.
func TestEndedTaskEndsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(nil, 0), nil, &recorder{name: "a"})
		web := named("web", "10h", nil)
		web.Config["kill_after"], web.KillTimeout = "1m", new(time.Minute)
		s.config.Group.Tasks = []*api.Task{named("init", "1s", &api.TaskLifecycle{Hook: "prestart"}), web}
		s.config.Job.Canonicalize()
		dir := t.TempDir()
		first, err := store.Create(&s.bus, dir, store.Change{})
		if err != nil {
			t.Fatal(err)
		}
		s.config.Recorder = first
		s.alloc = runner.New(s.config)
		result := s.run(t.Context())
		pass(time.Minute)
		s.alloc.Stop()
		pass(time.Second)
		if lines := s.take(); !slices.Contains(lines, "a stop") {
			t.Errorf("the first task has not ended: %q", lines)
		}
		first.HaltWhen(func() bool { return true })
		<-result
		second, err := store.Open(&s.bus, dir)
		if err != nil {
			t.Fatal(err)
		}
		s.take()
		s.config.Recorder, s.config.Drivers["mock_driver"] = second, mock.New()
		s.alloc = runner.Restore(s.config)
		if got := <-s.run(t.Context()); got.Status != "complete" {
			t.Error(got.Status)
		}
		if got := slices.DeleteFunc(s.take(), func(line string) bool { return line != "a stop" }); len(got) != 1 {
			t.Errorf("hooks of %d tasks see the end", len(got))
		}
		for _, r := range []*store.Recorder{first, second} {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// The next engine continues to watch the health of an allocation, passes a verdict
// on again, and starts over for another deployment.
func TestHealthUnderTheNextEngine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		healthy    time.Duration // min_healthy_time
		deployment string
		after      time.Duration // of the begin of the first engine, when the verdict is there
	}{
		"watched":              {10 * time.Minute, "", 10 * time.Minute},
		"judged":               {time.Second, "", time.Minute},
		"of another one":       {10 * time.Minute, "another", 11 * time.Minute},
		"judged, of another":   {time.Second, "another", time.Minute + time.Second},
		"without a deployment": {time.Second, "none", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, mockTask(map[string]any{"run_for": "10h"}, 0), nil)
				s.config.Group.Update = &api.UpdateStrategy{HealthCheck: new("task_states"), MinHealthyTime: &tt.healthy, HealthyDeadline: new(time.Hour)}
				s.config.Job.Canonicalize()
				var told []time.Duration
				begin := time.Now()
				s.config.OnVerdict = func(v health.Verdict) {
					if v != health.Healthy {
						t.Errorf("it is %v", v)
					}
					told = append(told, time.Since(begin))
				}
				s.leave(t, mock.New())
				told = nil
				if tt.deployment != "" {
					s.config.Deployment = strings.TrimPrefix(tt.deployment, "none")
					s.alloc = runner.Restore(s.config)
				}
				result := s.run(t.Context())
				pass(30 * time.Minute)
				synctest.Wait()
				want := []time.Duration{tt.after}
				if tt.deployment == "none" {
					want = nil
				}
				if !slices.Equal(told, want) {
					t.Errorf("verdicts after %v, want %v", told, want)
				}
				if h := s.alloc.State().Healthy; (h != nil && *h) != (want != nil) {
					t.Errorf("it is healthy: %v", h)
				}
				s.alloc.Stop()
				<-result
				pass(10 * time.Hour) // until the first driver's task ends by itself
			})
		})
	}
}

// A restored allocation without its directory cannot continue: its tasks are
// killed.
func TestAllocationWithoutItsDirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next := &forgetful{Driver: mock.New()}
		s := recovered(t, mockTask(map[string]any{"run_for": "10h"}, 0), next)
		if err := os.RemoveAll(s.config.Dir); err != nil {
			t.Fatal(err)
		}
		s.take()
		s.alloc = runner.Restore(s.config)
		result := <-s.run(t.Context())
		want := "Unable to add allocation due to error: allocation directory is inaccessible: stat " + s.config.Dir + ": no such file or directory"
		if state := s.alloc.State(); result.Status != "failed" || state.Description != want || state.Tasks["t"].State != "dead" {
			t.Errorf("%s: %s", result.Status, state.Description)
		}
		if next.destroyed != 1 || !slices.Equal(s.take(), []string{"alloc postrun"}) {
			t.Errorf("%d tasks were killed", next.destroyed)
		}
		s.alloc.Found()      // it returns
		pass(10 * time.Hour) // until the first driver's task ends by itself
	})
}

// Hooks register services and checks again under the next engine, which is no news.
func TestRegistrationsAreNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var publish func(time.Time, event.Body)
		s := newSetting(t, mockTask(map[string]any{"run_for": "10h"}, 0), nil)
		s.config.Hooks.Task = append(s.config.Hooks.Task, func(info hooks.Task) hooks.TaskHook {
			publish = info.Publish
			return after{"t", func(context.Context) {
				publish(time.Now(), event.Service{ID: "s", Name: "web", Port: 80, Registered: true})
				publish(time.Now(), event.Check{Service: "s", Check: "alive", Status: "success"})
			}}
		})
		news := func() (found []string) {
			for s.events.Ready() {
				switch e, _ := s.events.Next(t.Context()); body := e.Body.(type) {
				case event.Service:
					found = append(found, e.Task+" "+body.Name)
				case event.Check:
					found = append(found, e.Task+" "+body.Check+" "+body.Status)
				}
			}
			return found
		}
		s.leave(t, mock.New())
		if got := news(); !slices.Equal(got, []string{"t web", "t alive success"}) {
			t.Errorf("the first engine tells %q", got)
		}
		result := s.run(t.Context())
		pass(time.Minute)
		if got := news(); got != nil {
			t.Errorf("the next engine tells %q", got)
		}
		publish(time.Now(), event.Check{Service: "s", Check: "alive", Status: "failure"})
		if got := news(); !slices.Equal(got, []string{"t alive failure"}) {
			t.Errorf("a change is told as %q", got)
		}
		s.alloc.Stop()
		<-result
		pass(10 * time.Hour) // until the first driver's task ends by itself
	})
}

// unwilling is a driver whose starts fail immediately, or once the task is stopped.
type unwilling struct {
	*mock.Driver
	err  error
	wait bool
}

func (d unwilling) StartTask(_ context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	if d.wait {
		<-cfg.Unwanted
	}
	return nil, nil, d.err
}

// An event says why a task was not started, unless its driver has given up a start that was canceled.
func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config    map[string]any
		driver    unwilling
		want      string
		noCommand bool
	}{
		"by its driver":      {driver: unwilling{err: errBroken}, want: "broken"},
		"without a command":  {driver: unwilling{err: &drivers.NoCommandError{Err: errBroken}}, want: "broken", noCommand: true},
		"unwanted":           {driver: unwilling{err: drivers.ErrUnwanted, wait: true}},
		"killed, and broken": {driver: unwilling{err: errBroken, wait: true}, want: "broken"},
		"by its config": {
			config: map[string]any{"nope": "1"},
			want:   "2 errors occurred:\n\t* failed to parse config: \n\t* Invalid label: No argument or block type is named \"nope\".\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, mockTask(tt.config, 0), nil)
				tt.driver.Driver = s.driver
				s.config.Drivers["mock_driver"] = tt.driver
				s.alloc = runner.New(s.config)
				result := s.run(t.Context())
				synctest.Wait()
				s.alloc.Stop()
				<-result
				var got string
				noCommand := false
				for _, e := range s.alloc.State().Tasks["t"].Events {
					if e.Type == api.TaskDriverFailure || e.Type == api.TaskFailedValidation {
						got, noCommand = e.DisplayMessage, e.Details[event.NoCommand] == "true"
					}
				}
				if got != tt.want || noCommand != tt.noCommand {
					t.Errorf("%q, no command: %v", got, noCommand)
				}
			})
		})
	}
}

// The download of an image is news of the task, but no event of it.
func TestDriverProgress(t *testing.T) {
	t.Parallel()
	s := newSetting(t, mockTask(nil, 0), nil)
	all := s.bus.Subscribe(true)
	at := time.Now().Add(-time.Hour)
	s.alloc.DriverEvent(drivers.TaskEvent{TaskName: "t", Timestamp: at, Progress: &drivers.Progress{What: "image", Done: 1, Total: 2}})
	if !all.Ready() {
		t.Fatal("nothing is told")
	}
	e, _ := all.Next(t.Context())
	if body, ok := e.Body.(event.Progress); !ok || body.What != "image" || body.Total != 2 || e.Task != "t" || !e.Time.Equal(at) {
		t.Errorf("it is %+v", e)
	}
	if s.events.Ready() || len(s.alloc.State().Tasks["t"].Events) != 0 {
		t.Error("there is more")
	}
}

// The status of an allocation names its evaluation and the allocation that it
// replaces, and says whether it is replaced itself, which only happens to a failed
// one.
func TestStatusOfAReplacement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "5s", "exit_code": 1}, 0), nil)
		begin := time.Now()
		s.config.Replaces, s.config.Evaluation = "before", "evaluation"
		s.config.Retry = func(failed time.Time) time.Duration { return failed.Sub(begin) }
		s.alloc = runner.New(s.config)
		s.alloc.Run(t.Context())
		var got []string
		for s.events.Ready() {
			e, _ := s.events.Next(t.Context())
			if body, ok := e.Body.(event.AllocStatus); ok {
				got = append(got, fmt.Sprint(body.Status, " ", body.Replaces, " ", body.Evaluation, " ", body.Retry))
			}
		}
		want := []string{"pending before evaluation -1ns", "running before evaluation -1ns", "failed before evaluation 5s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

// Hooks learn what the drivers of the allocation can do, and use the driver of their task
// once it runs.
func TestWhatHooksKnowOfDrivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil)
		s.config.Drivers["mock_driver"] = &isolated{listener: listener{Driver: s.driver}, kind: drivers.FSIsolationImage}
		var info hooks.Alloc
		s.config.Hooks.Alloc = append(s.config.Hooks.Alloc, func(a hooks.Alloc) hooks.AllocHook { info = a; return nil })
		var started hooks.PoststartRequest
		s.config.Hooks.Task = append(s.config.Hooks.Task, func(hooks.Task) hooks.TaskHook { return using{&started} })
		s.alloc = runner.New(s.config)
		result := s.run(t.Context())
		synctest.Wait()
		if got := info.Capabilities("mock_driver").FSIsolation; got != drivers.FSIsolationImage {
			t.Errorf("the driver isolates: %v", got)
		}
		if got := info.Capabilities("another"); !reflect.DeepEqual(got, drivers.Capabilities{}) {
			t.Errorf("another driver can: %+v", got)
		}
		if started.Env.Map()["NOMAD_TASK_NAME"] != "t" || started.Exec == nil || started.Stats == nil {
			t.Errorf("it is told %+v", started)
		}
		if _, err := started.Exec(t.Context(), []string{"true"}); err != nil {
			t.Errorf("a command: %v", err)
		}
		if _, err := started.Stats(t.Context(), time.Second); err != nil {
			t.Errorf("its usage: %v", err)
		}
		s.alloc.Stop()
		<-result
	})
}

// using is a task hook that keeps what it is told after a start.
type using struct{ request *hooks.PoststartRequest }

func (using) Name() string { return "using" }
func (h using) Poststart(_ context.Context, req *hooks.PoststartRequest) error {
	*h.request = *req
	return nil
}
