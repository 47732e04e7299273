package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// plain is a driver without any optional interface.
type plain struct{ drivers.Driver }

// stubborn is a driver whose tasks cannot be stopped at first, or at all, or
// cannot be waited for.
type stubborn struct {
	drivers.Driver
	failures int // of StopTask; negative: all
	asked    []time.Duration
	deaf     bool // WaitTask fails
	begun    time.Time
}

var errBroken = errors.New("broken")

func (d *stubborn) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	d.asked = append(d.asked, time.Since(d.begun))
	if d.failures != 0 {
		d.failures--
		return errBroken
	}
	return d.Driver.StopTask(ctx, id, timeout, signal)
}

func (d *stubborn) WaitTask(ctx context.Context, id string) (<-chan *drivers.ExitResult, error) {
	if d.deaf {
		return nil, errBroken
	}
	return d.Driver.WaitTask(ctx, id)
}

// A command runs in a running task, and a signal reaches it; the errors are
// Nomad's.
func TestOrdersForOneTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(nil, 0), nil)
		s.config.Drivers["plain"] = plain{s.driver}
		other := named("plain", "1h", nil)
		other.Driver = "plain"
		s.renew(named("t", "1h", nil), other)
		execs := func(task string) error {
			_, err := s.alloc.Exec(t.Context(), task, &drivers.ExecOptions{})
			return err
		}
		orders := func(when string, exec, signal, unable string) {
			t.Helper()
			synctest.Wait()
			for _, tt := range []struct {
				what string
				err  error
				want string
			}{
				{"a command", execs("t"), exec},
				{"a command in no task", execs("x"), `unknown task name "x"`},
				{"a signal", s.alloc.Signal(t.Context(), "t", "SIGHUP"), signal},
				{"an unknown signal", s.alloc.Signal(t.Context(), "t", "SIGNOT"), "SIGNOT"},
				{"a signal for no task", s.alloc.Signal(t.Context(), "x", "SIGHUP"), "Task not found"},
				{"a signal that the driver cannot send", s.alloc.Signal(t.Context(), "plain", "SIGHUP"), unable},
				{"a restart of no task", s.alloc.RestartTask(t.Context(), "x", "", false), "Could not find task runner for task: x"},
			} {
				switch {
				case tt.want == "" && tt.err != nil, tt.want != "" && (tt.err == nil || !strings.Contains(tt.err.Error(), tt.want)):
					t.Errorf("%s, %s: %v, want %q", when, tt.what, tt.err, tt.want)
				}
			}
		}
		const unable = `SignalTask is not supported by driver "plain"`
		result := s.run(t.Context())
		orders("while it runs", "command is not present", "", unable)
		if got := of(s.told(), "t"); !slices.Equal(got[2:], []string{api.TaskSignaling}) {
			t.Errorf("it was told %q", got)
		}
		s.alloc.Stop()
		<-result
		orders("when it has ended", `task "t" is not running.`, "Task not running", unable)
		s.renew(named("t", "1h", nil), other)
		s.alloc.Fail("never")
		orders("before it runs", `task "t" not started yet.`, "Task not running", unable)
	})
}

// Stopping a task is repeated after Nomad's pauses; a task that is killed for
// good is destroyed in the end.
func TestFailedStops(t *testing.T) {
	t.Parallel()
	sec := func(n ...int) (out []time.Duration) {
		for _, n := range n {
			out = append(out, time.Duration(n)*time.Second)
		}
		return out
	}
	for name, tt := range map[string]struct {
		failures int
		runFor   string
		killed   time.Duration // after that, without grace
		asked    []time.Duration
		ends     time.Duration
		said     string
	}{
		"at first":               {2, "1h", 0, sec(0, 5, 25), 25 * time.Second, "Task successfully killed"},
		"until it ends":          {2, "10s", 0, sec(0, 5), 10 * time.Second, "Task successfully killed"},
		"until there is no time": {-1, "1h", 30 * time.Second, sec(0, 5, 25), 30 * time.Second, "broken"},
		"always":                 {-1, "1h", 0, sec(0, 5, 25, 105, 225), 345 * time.Second, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSetting(t, mockTask(map[string]any{"run_for": tt.runFor}, 0), nil)
				d := &stubborn{Driver: s.driver, failures: tt.failures, begun: time.Now()}
				s.config.Drivers["mock_driver"] = d
				s.alloc = runner.New(s.config)
				hard, kill := context.WithCancel(context.WithoutCancel(t.Context()))
				defer kill()
				if tt.killed > 0 {
					time.AfterFunc(tt.killed, kill)
				}
				result := s.run(hard)
				synctest.Wait()
				s.alloc.Stop()
				<-result
				if !slices.Equal(d.asked, tt.asked) || time.Since(d.begun) != tt.ends {
					t.Errorf("told to stop after %v, ended after %v; want %v, %v", d.asked, time.Since(d.begun), tt.asked, tt.ends)
				}
				if said := s.said(); said[len(said)-1] != tt.said {
					t.Errorf("the last words are %q", said[len(said)-1])
				}
			})
		})
	}
}

// A task survives if its driver goes away and comes back; if the driver cannot
// find it, or cannot wait for it, it is lost, which is a failure.
func TestLostDrivers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		driver func(drivers.Driver) drivers.Driver
		want   []string
		ends   time.Duration
	}{
		"and come back":    {func(d drivers.Driver) drivers.Driver { return d }, []string{api.TaskTerminated}, time.Minute},
		"and find nothing": {func(d drivers.Driver) drivers.Driver { return plain{d} }, nil, 20 * time.Second},
		"and say nothing":  {func(d drivers.Driver) drivers.Driver { return &stubborn{Driver: d, deaf: true} }, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				config := map[string]any{"run_for": "1m", "exit_code": 3, "exit_signal": 0, "plugin_exit_after": "20s"}
				s := newSetting(t, mockTask(config, 0), nil)
				s.config.Drivers["mock_driver"] = tt.driver(s.driver)
				s.alloc = runner.New(s.config)
				begun := time.Now()
				result := <-s.run(t.Context())
				want := slices.Concat([]string{api.TaskReceived, api.TaskStarted}, tt.want, []string{api.TaskNotRestarting})
				if got := of(s.told(), "t"); !slices.Equal(got[:min(len(got), len(want))], want) {
					t.Errorf("told %q", got)
				}
				if result.Status != "failed" || time.Since(begun) != tt.ends {
					t.Errorf("it was %s after %v", result.Status, time.Since(begun))
				}
			})
		})
	}
}

// The exit code of a task that a signal has ended is 128 plus the signal.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]int{{0, 0, 0}, {3, 0, 3}, {0, 9, 137}, {3, 9, 3}} {
		synctest.Test(t, func(t *testing.T) {
			s := newSetting(t, mockTask(map[string]any{"run_for": "1s", "exit_code": tt[0], "exit_signal": tt[1]}, 0), nil)
			s.alloc.Run(t.Context())
			var last *int
			for s.events.Ready() {
				e, _ := s.events.Next(t.Context())
				if state, ok := e.Body.(event.TaskState); ok {
					last = state.ExitCode
				}
			}
			if last == nil || *last != tt[2] {
				t.Errorf("code %d and signal %d are %v", tt[0], tt[1], last)
			}
		})
	}
}

// isolated is a driver whose tasks have their own file system.
type isolated struct {
	listener
	kind drivers.FSIsolation
}

func (d *isolated) Capabilities() drivers.Capabilities {
	c := d.listener.Capabilities()
	c.FSIsolation = d.kind
	return c
}

// The environment has directories as the task sees them, and the variables of
// the machine unless the task comes from an image.
func TestEnvironmentOfIsolatedTasks(t *testing.T) {
	t.Parallel()
	for kind, tt := range map[drivers.FSIsolation]struct{ inside, host bool }{
		drivers.FSIsolationNone:   {false, true},
		drivers.FSIsolationChroot: {true, true},
		drivers.FSIsolationImage:  {true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil)
			d := &isolated{listener: listener{Driver: s.driver}, kind: kind}
			s.config.Drivers["mock_driver"], s.config.HostEnv = d, []string{"FROM_HOST=1"}
			s.alloc = runner.New(s.config)
			s.alloc.Run(t.Context())
			env := d.last.Env
			dirs := []string{env["NOMAD_ALLOC_DIR"], env["NOMAD_TASK_DIR"], env["NOMAD_SECRETS_DIR"]}
			want := []string{s.config.Dir + "/alloc", s.config.Dir + "/t/local", s.config.Dir + "/t/secrets"}
			if tt.inside {
				want = []string{"/alloc", "/local", "/secrets"}
			}
			if !slices.Equal(dirs, want) || tt.host != (env["FROM_HOST"] == "1") {
				t.Errorf("%s: %q, %q", kind, dirs, env["FROM_HOST"])
			}
		})
	}
}

func TestGranted(t *testing.T) {
	t.Parallel()
	task := api.NewTask("t", "mock_driver")
	task.Resources = &api.Resources{CPU: new(100), MemoryMB: new(10), MemoryMaxMB: new(20)}
	for name, tt := range map[string]struct {
		config runner.Config
		task   *api.Task
		want   drivers.Resources
	}{
		"nothing":          {runner.Config{}, api.NewTask("t", ""), drivers.Resources{}},
		"the usual":        {runner.Config{}, task, drivers.Resources{CPU: 100, MemoryMB: 10}},
		"oversubscription": {runner.Config{Node: &taskenv.Node{MemoryOversubscription: true}}, task, drivers.Resources{CPU: 100, MemoryMB: 10, MemoryMaxMB: 20}},
		"cores of another": {runner.Config{Node: &taskenv.Node{}, Cores: map[string]taskenv.Cores{"x": {MHz: 5}}}, task, drivers.Resources{CPU: 100, MemoryMB: 10}},
		"cores": {
			runner.Config{Cores: map[string]taskenv.Cores{"t": {MHz: 5, IDs: []int{1}}}},
			task,
			drivers.Resources{CPU: 5, MemoryMB: 10, Cores: []int{1}},
		},
	} {
		got := tt.config.Granted(tt.task)
		if got.CPU != tt.want.CPU || got.MemoryMB != tt.want.MemoryMB || got.MemoryMaxMB != tt.want.MemoryMaxMB || len(got.Cores) != len(tt.want.Cores) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestLastEvent(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	for name, tt := range map[string]struct {
		finished []time.Time
		want     time.Time
	}{
		"no task has ended": {[]time.Time{{}, {}}, at(9)},
		"the later end":     {[]time.Time{at(2), at(5), {}}, at(5)},
	} {
		state := runner.State{Modified: at(9), Tasks: map[string]*api.TaskState{}}
		for i, f := range tt.finished {
			state.Tasks[string(rune('a'+i))] = &api.TaskState{FinishedAt: f}
		}
		if got := state.LastEvent(); !got.Equal(tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Hooks of the allocation publish events, report whether its checks pass, and
// report failed updates and removals.
func TestAllocHookMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), map[string]error{"update": errBroken, "destroy": errBroken, "postrun": errBroken})
		s.config.Group.Update = &api.UpdateStrategy{HealthCheck: new("checks"), MinHealthyTime: new(time.Second), HealthyDeadline: new(time.Hour)}
		s.config.Job.Canonicalize()
		var info hooks.Alloc
		s.config.Hooks.Alloc = append(s.config.Hooks.Alloc, func(a hooks.Alloc) hooks.AllocHook { info = a; return nil })
		s.alloc = runner.New(s.config)
		result := s.run(t.Context())
		info.ChecksPass(false)
		info.Publish(time.Now(), event.Notice{Text: "mine"})
		pass(time.Minute)
		if s.alloc.State().Healthy != nil {
			t.Error("it has a verdict before its checks pass")
		}
		info.ChecksPass(true)
		pass(time.Minute)
		if h := s.alloc.State().Healthy; h == nil || !*h {
			t.Errorf("its verdict is %v", h)
		}
		s.alloc.Update(runner.Update{Job: s.config.Job, Group: s.config.Group, Deployment: s.config.Deployment})
		synctest.Wait()
		s.alloc.Stop()
		<-result
		if err := s.alloc.Destroy(t.Context()); !errors.Is(err, errBroken) || err.Error() != `destroy hook "alloc" failed: broken` {
			t.Errorf("destroy: %v", err)
		}
		said := s.said()
		for _, want := range []string{"mine", `update hook "alloc" failed: broken`, `post-run hook "alloc" failed: broken`} {
			if !slices.Contains(said, want) {
				t.Errorf("%q was not said: %q", want, said)
			}
		}
		if env := info.Env(); env.Map()["NOMAD_ALLOC_ID"] != s.config.Alloc.ID {
			t.Errorf("its environment is %v", env.Map())
		}
	})
}
