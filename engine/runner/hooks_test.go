package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal records the calls of phases of hooks, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// recorder is a task hook with every phase.
type recorder struct {
	name     string
	journal  *journal
	control  hooks.Control
	prestart func(context.Context, *hooks.PrestartRequest, *hooks.PrestartResponse) error
	fail     map[string]error // by phase
}

func (r *recorder) Name() string { return r.name }

func (r *recorder) phase(phase string) error {
	r.journal.add("%s %s", r.name, phase)
	return r.fail[phase]
}

func (r *recorder) Prestart(ctx context.Context, req *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	if err := r.phase("prestart"); err != nil {
		return err
	}
	if r.prestart != nil {
		return r.prestart(ctx, req, resp)
	}
	return nil
}

func (r *recorder) Poststart(context.Context, *hooks.PoststartRequest) error {
	return r.phase("poststart")
}
func (r *recorder) Prekill(context.Context) error { return r.phase("prekill") }
func (r *recorder) Exited(context.Context) error  { return r.phase("exited") }
func (r *recorder) Stop(context.Context) error    { return r.phase("stop") }
func (r *recorder) Shutdown()                     { _ = r.phase("shutdown") }
func (r *recorder) Update(_ context.Context, req *hooks.UpdateRequest) error {
	return r.phase("update to " + req.Task.KillTimeout.String())
}

// allocRecorder is an allocation hook with every phase.
type allocRecorder struct {
	journal *journal
	fail    map[string]error
}

func (r *allocRecorder) Name() string { return "alloc" }
func (r *allocRecorder) Prerun(context.Context) error {
	r.journal.add("alloc prerun")
	return r.fail["prerun"]
}
func (r *allocRecorder) Prekill(context.Context) { r.journal.add("alloc prekill") }
func (r *allocRecorder) Postrun(context.Context) error {
	r.journal.add("alloc postrun")
	return r.fail["postrun"]
}
func (r *allocRecorder) PreTaskRestart(context.Context) { r.journal.add("alloc pre-task-restart") }
func (r *allocRecorder) Destroy(context.Context) error {
	r.journal.add("alloc destroy")
	return r.fail["destroy"]
}
func (r *allocRecorder) Shutdown() { r.journal.add("alloc shutdown") }
func (r *allocRecorder) Update(context.Context, *api.Job, *api.TaskGroup) error {
	r.journal.add("alloc update")
	return r.fail["update"]
}

// silence is the hook that gives a task an output without a reader.
type silence struct{ drivers.Output }

func (silence) Name() string { return "silence" }
func (s silence) Prestart(_ context.Context, _ *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
	r.Output = s
	return nil
}
func (silence) Drain() {}
func (silence) Writers() (stdout, stderr io.WriteCloser, err error) {
	return nopCloser{io.Discard}, nopCloser{io.Discard}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// setting is an allocation of one task with recorded hooks.
type setting struct {
	journal
	alloc  *runner.Alloc
	driver *mock.Driver
	bus    event.Bus
	events *event.Subscription
	config runner.Config
}

func newSetting(t *testing.T, task *api.Task, allocFail map[string]error, taskHooks ...*recorder) *setting {
	t.Helper()
	s := &setting{driver: mock.New()}
	s.events = s.bus.Subscribe(false)
	g := api.NewTaskGroup("g", 1)
	g.Tasks = []*api.Task{task}
	job := &api.Job{ID: new("job"), Type: new("service"), TaskGroups: []*api.TaskGroup{g}}
	job.Canonicalize()
	catalog := hooks.Catalog{
		Alloc: []hooks.AllocFactory{func(hooks.Alloc) hooks.AllocHook { return &allocRecorder{&s.journal, allocFail} }},
		Task:  []hooks.TaskFactory{func(hooks.Task) hooks.TaskHook { return silence{} }},
	}
	for _, h := range taskHooks {
		h.journal = &s.journal
		catalog.Task = append(catalog.Task, func(info hooks.Task) hooks.TaskHook {
			h.control = info.Control
			return h
		})
	}
	s.config = runner.Config{
		Alloc: &event.Alloc{Job: "job", Group: "g", Name: "job.g[0]", ID: chance.Source{}.ID()},
		Job:   job, Group: g, Dir: t.TempDir(), Deployment: chance.Source{}.ID(),
		Drivers: map[string]drivers.Driver{"mock_driver": s.driver},
		Hooks:   catalog, Node: &taskenv.Node{}, MaxKillTimeout: time.Minute, Bus: &s.bus,
	}
	s.alloc = runner.New(s.config)
	return s
}

// taskEvents returns the texts of all events so far.
func (s *setting) taskEvents() (texts []string) {
	for s.events.Ready() {
		e, ok := s.events.Next(context.Background())
		if !ok {
			break
		}
		if te, ok := e.Body.(event.TaskEvent); ok {
			texts = append(texts, te.DisplayMessage)
		}
	}
	return texts
}

func mockTask(config map[string]any, attempts int) *api.Task {
	t := api.NewTask("t", "mock_driver")
	t.Config = config
	t.RestartPolicy = &api.RestartPolicy{Attempts: &attempts, Delay: new(time.Second), Mode: new("fail")}
	return t
}

func TestEveryPhaseOfEveryHookInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 1), nil, &recorder{name: "a"}, &recorder{name: "b"})
		go s.alloc.Run(t.Context())
		synctest.Wait()
		check := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, s.take()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		check("start", "alloc prerun", "a prestart", "b prestart", "a poststart", "b poststart")
		if err := s.alloc.RestartTask(t.Context(), "t", "", false); err != nil {
			t.Error(err)
		}
		pass(time.Nanosecond) // the restart has no delay
		check("restart of the task", "a prekill", "b prekill", "a exited", "b exited",
			"a prestart", "b prestart", "a poststart", "b poststart")
		if err := s.alloc.Restart(t.Context(), true); err != nil {
			t.Error(err)
		}
		pass(time.Nanosecond)
		check("restart of all", "alloc pre-task-restart", "a prekill", "b prekill", "a exited", "b exited",
			"a prestart", "b prestart", "a poststart", "b poststart")
		pass(time.Hour)
		check("its own end", "a exited", "b exited")
		pass(2 * time.Second)
		check("restart by policy", "a prestart", "b prestart", "a poststart", "b poststart")
		s.alloc.Stop()
		check("stop", "alloc prekill", "a prekill", "b prekill", "a exited", "b exited", "a stop", "b stop", "alloc postrun")
		if err := s.alloc.Destroy(t.Context()); err != nil {
			t.Error(err)
		}
		check("destroy", "alloc destroy")
	})
}

func TestGiftsOfAHookRemain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var states []map[string]string
		var seen []string
		once := &recorder{name: "once", prestart: func(_ context.Context, _ *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			r.Done, r.Env = true, map[string]string{"ONCE": "1", "BOTH": "once"}
			r.VaultToken = "token"
			return nil
		}}
		each := &recorder{name: "each", prestart: func(_ context.Context, req *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			states = append(states, req.State)
			n := len(states)
			env := req.Env.Map()
			seen = append(seen, fmt.Sprintf("%s %s %q %s %v", env["ONCE"], env["BOTH"], env["VAULT_TOKEN"], req.VaultToken,
				strings.HasSuffix(req.TaskDir, "/t")))
			r.State = map[string]string{"n": fmt.Sprint(n)}
			if n == 1 {
				r.Env = map[string]string{"BOTH": "each"}
			}
			return nil
		}}
		s := newSetting(t, mockTask(map[string]any{"run_for": "1s", "exit_code": 1}, 2), nil, once, each)
		s.alloc.Run(t.Context())
		calls := 0
		for _, l := range s.take() {
			if l == "once prestart" {
				calls++
			}
		}
		if calls != 1 {
			t.Errorf("a hook that is done was called %d times", calls)
		}
		if diff := cmp.Diff([]map[string]string{nil, {"n": "1"}, {"n": "2"}}, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		// The second response had no variables, which removes those of the
		// first.
		want := []string{`1 once "" token true`, `1 each "" token true`, `1 once "" token true`}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
	})
}

func TestFailingHooks(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		fail      map[string]error
		allocFail map[string]error
		events    []string // required events, in order
		starts    bool
	}{
		"prestart, for good": {
			fail: map[string]error{"prestart": broken}, events: []string{"a: broken", "Error was unrecoverable"},
		},
		"prestart, perhaps not for good": {
			fail:   map[string]error{"prestart": drivers.Recoverable(broken)},
			events: []string{"a: broken", "Task restarting in ", "a: broken", `Exceeded allowed attempts 1 in interval 30m0s and mode is "fail"`},
		},
		"prestart, with an event of its own": {
			fail:   map[string]error{"prestart": &hooks.EventError{Event: event.HookMessage("mine"), Err: broken}},
			events: []string{"mine", "Error was unrecoverable"},
		},
		"poststart": {fail: map[string]error{"poststart": broken}, events: []string{"Task started by client", "a: broken"}, starts: true},
		"exited":    {fail: map[string]error{"exited": broken}, events: []string{"Exit Code: 0", "a: broken"}, starts: true},
		"stop":      {fail: map[string]error{"stop": broken}, events: []string{"Task started by client", "a: broken"}, starts: true},
		"prerun": {
			allocFail: map[string]error{"prerun": broken},
			events:    []string{`failed to setup alloc: pre-run hook "alloc" failed: broken`},
		},
		"postrun": {allocFail: map[string]error{"postrun": broken}, events: []string{"Task started by client"}, starts: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 1), tt.allocFail,
					&recorder{name: "a", fail: tt.fail}, &recorder{name: "b"})
				result := s.alloc.Run(t.Context())
				got := s.taskEvents()
				rest := got
				for _, want := range tt.events {
					i := slices.IndexFunc(rest, func(s string) bool { return strings.HasPrefix(s, want) })
					if i < 0 {
						t.Fatalf("no event %q, in order, in %q", want, got)
					}
					rest = rest[i+1:]
				}
				lines := s.take()
				if started := slices.Contains(got, "Task started by client"); started != tt.starts {
					t.Errorf("started: %v", started)
				}
				if b := slices.Contains(lines, "b prestart"); b != tt.starts {
					t.Errorf("the hook behind was called: %v", b)
				}
				if !slices.Contains(lines, "b stop") || !slices.Contains(lines, "alloc postrun") {
					t.Errorf("not cleaned up: %q", lines)
				}
				if result.Status != "failed" { // a service that ends has failed
					t.Errorf("status %q", result.Status)
				}
			})
		})
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h", "kill_after": "1h"}, 0), nil, &recorder{name: "a"})
		begin := time.Now()
		done := make(chan runner.Result, 1)
		go func() { done <- s.alloc.Run(t.Context()) }()
		synctest.Wait()
		s.take()
		version := func(kill time.Duration) runner.Update {
			g := api.NewTaskGroup("g", 1)
			task := mockTask(s.config.Group.Tasks[0].Config, 0)
			task.KillTimeout = &kill
			g.Tasks = []*api.Task{task}
			g.MaxRunDuration = new(10 * time.Minute)
			job := &api.Job{ID: new("job"), Type: new("service"), TaskGroups: []*api.TaskGroup{g}}
			job.Canonicalize()
			return runner.Update{Job: job, Group: g, Deployment: "another", Canary: true}
		}
		for _, kill := range []time.Duration{7 * time.Second, 8 * time.Second, 9 * time.Second} {
			s.alloc.Update(version(kill))
		}
		synctest.Wait()
		lines := s.take()
		// Versions in quick succession are applied together, but always the
		// last one.
		if len(lines) < 2 || lines[len(lines)-1] != "a update to 9s" || lines[0] != "alloc update" {
			t.Errorf("hooks were told: %q", lines)
		}
		for _, kill := range []time.Duration{7 * time.Second, 9 * time.Second} { // one after the other
			s.alloc.Update(version(kill))
			synctest.Wait()
			if diff := cmp.Diff([]string{"alloc update", "a update to " + kill.String()}, s.take()); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
			now := s.alloc.Config()
			if got := *now.Group.Tasks[0].KillTimeout; got != kill || now.Job.TaskGroups[0] != now.Group || now.Deployment != "another" || !now.Canary {
				t.Errorf("the config has %v, deployment %q, canary %t", got, now.Deployment, now.Canary)
			}
		}
		<-done
		if after := time.Since(begin); after != 10*time.Minute+9*time.Second {
			t.Errorf("ended after %v, want the new max_run_duration and kill_timeout", after)
		}
	})
}

// patient is an allocation hook that takes a minute for an update.
type patient struct{ journal *journal }

func (patient) Name() string { return "patient" }
func (p patient) Update(context.Context, *api.Job, *api.TaskGroup) error {
	p.journal.add("begin")
	pass(time.Minute)
	p.journal.add("end")
	return nil
}

// Hooks get one version after another, and only the newest of those that come meanwhile.
func TestUpdatesDoNotOverlap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil)
		s.config.Hooks.Alloc = []hooks.AllocFactory{func(hooks.Alloc) hooks.AllocHook { return patient{&s.journal} }}
		s.alloc = runner.New(s.config)
		result := s.run(t.Context())
		for range 3 {
			synctest.Wait()
			s.alloc.Update(runner.Update{Job: s.config.Job, Group: s.config.Group, Deployment: s.config.Deployment})
		}
		pass(10 * time.Minute)
		if got := s.take(); !slices.Equal(got, []string{"begin", "end", "begin", "end"}) {
			t.Errorf("the hook says %q", got)
		}
		s.alloc.Stop()
		<-result
	})
}

// A task that is killed or left before it may start calls no hook that prepares a start.
func TestNoPrestartBehindTheGate(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*runner.Alloc){"killed": (*runner.Alloc).Stop, "left": (*runner.Alloc).Leave} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, mockTask(nil, 0), nil, &recorder{name: "a"})
				s.renew(named("init", "1h", &api.TaskLifecycle{Hook: "prestart"}), named("web", "1h", nil))
				result := s.run(t.Context())
				pass(time.Minute)
				end(s.alloc)
				<-result
				if got := slices.DeleteFunc(s.take(), func(line string) bool { return line != "a prestart" }); len(got) != 1 {
					t.Errorf("it was called for %d tasks", len(got))
				}
				pass(time.Hour) // until the driver's task ends by itself
			})
		})
	}
}

func TestLeaveKeepsTasksRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil, &recorder{name: "a"})
		done := make(chan runner.Result, 1)
		go func() { done <- s.alloc.Run(t.Context()) }()
		synctest.Wait()
		s.take()
		s.alloc.Leave()
		<-done
		if diff := cmp.Diff([]string{"a shutdown", "alloc shutdown"}, s.take()); diff != "" {
			t.Errorf("hooks (-want +got):\n%s", diff)
		}
		if state := s.alloc.State(); state.Tasks["t"].State != "running" || state.Status != "running" {
			t.Errorf("state %+v", state)
		}
		pass(time.Hour) // until the driver's task ends by itself: it must not have been stopped
	})
}
