package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

func restarts(t *api.Task, attempts int, delay time.Duration) *api.Task {
	t.RestartPolicy = &api.RestartPolicy{Attempts: &attempts, Delay: &delay, Interval: new(24 * time.Hour), Mode: new("fail")}
	return t
}

var scenarios = map[string]scenario{
	"the whole lifecycle": {job: func() *api.Job {
		return newJob("batch",
			hook(newTask("stop", "run_for", "1s"), "poststop", false),
			hook(newTask("post", "run_for", "1s"), "poststart", false),
			newTask("main", "run_for", "5s", "exit_code", 3),
			hook(newTask("side", "run_for", "1h"), "prestart", true),
			hook(newTask("pre", "run_for", "1s"), "prestart", false),
		)
	}},
	"restarts with a delay": {job: func() *api.Job {
		return newJob("batch", restarts(newTask("t", "run_for", "2s", "exit_code", 1), 3, 10*time.Second), newTask("u", "run_for", "50s"))
	}},
	"starts that fail": {job: func() *api.Job {
		return newJob("batch", restarts(newTask("t", "start_error", "no", "start_error_recoverable", true), 2, time.Second))
	}},
	"config that does not fit": {job: func() *api.Job {
		return newJob("batch", restarts(newTask("bad", "run_for", "${qqqqqqqqqq.x}"), 2, time.Second), hook(newTask("after"), "poststop", false))
	}},
	"reschedules": {job: func() *api.Job {
		job := newJob("batch", newTask("t", "run_for", "1s", "exit_code", 1))
		job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
			Attempts: new(2), Interval: new(24 * time.Hour), Delay: new(time.Minute), DelayFunction: new("exponential"),
			MaxDelay: new(time.Hour), Unlimited: new(false),
		}
		return job
	}},
	"a service that is stopped": {lasts: time.Minute, job: func() *api.Job {
		job := newJob("service",
			with(newTask("main", "run_for", "1h", "kill_after", "3s"), func(t *api.Task) { t.ShutdownDelay = 5 * time.Second }),
			hook(newTask("side", "run_for", "1h"), "prestart", true),
			hook(newTask("after", "run_for", "2s"), "poststop", false))
		job.TaskGroups[0].ShutdownDelay = new(10 * time.Second)
		return job
	}},
	"a service that fails": {job: func() *api.Job {
		return newJob("service", restarts(newTask("t", "run_for", "4s", "exit_code", 9), 1, time.Second), newTask("u", "run_for", "1h"))
	}},
	"max_run_duration": {job: func() *api.Job {
		job := newJob("batch", newTask("t", "run_for", "1h", "kill_after", "1s"), hook(newTask("after"), "poststop", false))
		job.TaskGroups[0].MaxRunDuration = new(time.Minute)
		return job
	}},
	"a leader that ends": {job: func() *api.Job {
		return newJob("batch", with(newTask("lead", "run_for", "3s"), func(t *api.Task) { t.Leader = true }), newTask("other", "run_for", "1h"))
	}},
	"restart of all tasks": {lost: true, job: func() *api.Job {
		return newJob("batch", hook(newTask("pre", "run_for", "1s"), "prestart", false), newTask("main", "run_for", "1m", "kill_after", "1s"),
			hook(newTask("side", "run_for", "1h"), "prestart", true))
	}, actions: map[time.Duration]func(*engine.Engine){30 * time.Second: func(e *engine.Engine) {
		if allocs := e.Allocs(); len(allocs) == 1 {
			_ = allocs[0].Restart(context.Background(), true)
		}
	}}},
	"restart of a task": {lost: true, job: func() *api.Job {
		return newJob("batch", newTask("t", "run_for", "1m", "kill_after", "1s"))
	}, actions: map[time.Duration]func(*engine.Engine){30 * time.Second: func(e *engine.Engine) {
		if allocs := e.Allocs(); len(allocs) == 1 {
			_ = allocs[0].RestartTask(context.Background(), "t")
		}
	}}},
	"stop of an allocation": {lost: true, lasts: 2 * time.Minute, job: func() *api.Job {
		return newJob("service", newTask("t", "run_for", "1h", "kill_after", "3s"), hook(newTask("after", "run_for", "2s"), "poststop", false))
	}, actions: map[time.Duration]func(*engine.Engine){30 * time.Second: func(e *engine.Engine) {
		if allocs := e.Allocs(); len(allocs) == 1 {
			_ = e.StopAlloc(allocs[0].ID, engine.AllocStop{})
		}
	}}},
	"dispatch": {lost: true, lasts: time.Minute, job: func() *api.Job {
		job := newJob("batch", newTask("t", "run_for", "5s", "exit_code", "${NOMAD_META_CODE}"))
		job.ParameterizedJob = &api.ParameterizedJobConfig{Payload: "required", MetaRequired: []string{"code"}}
		job.TaskGroups[0].Tasks[0].DispatchPayload = &api.DispatchPayloadConfig{File: "in.txt"}
		return job
	}, actions: map[time.Duration]func(*engine.Engine){10 * time.Second: func(e *engine.Engine) {
		_, _, _ = e.Handle("job").Dispatch(engine.Dispatch{Payload: []byte("hello"), Meta: map[string]string{"code": "4"}})
	}}},
	"a rolling update": {lasts: 2 * time.Minute, job: func() *api.Job {
		return service(2, "a", "kill_after", "1s")
	}, actions: map[time.Duration]func(*engine.Engine){time.Minute: update(service(2, "b", "kill_after", "1s"))}, lost: true, every: 5},
	"in place": {lasts: 2 * time.Minute, job: func() *api.Job {
		return service(2, "a")
	}, actions: map[time.Duration]func(*engine.Engine){time.Minute: update(altered(service(1, "a"), func(j *api.Job, _ *api.UpdateStrategy) {
		j.Priority = new(70)
	}))}, lost: true, every: 5},
	"a version that goes back": {lasts: 2 * time.Minute, job: func() *api.Job {
		return service(2, "a")
	}, actions: map[time.Duration]func(*engine.Engine){time.Minute: update(altered(service(2, "b", "run_for", "3s"), func(_ *api.Job, u *api.UpdateStrategy) {
		u.AutoRevert = new(true)
	}))}, lost: true, every: 5},
	"canaries": {lasts: 3 * time.Minute, job: func() *api.Job {
		return service(2, "a")
	}, actions: map[time.Duration]func(*engine.Engine){time.Minute: update(altered(service(2, "b"), func(_ *api.Job, u *api.UpdateStrategy) {
		u.Canary, u.AutoPromote = new(1), new(true)
	}))}, lost: true, every: 5},
	"canaries that fail": {lasts: 3 * time.Minute, job: func() *api.Job {
		return service(2, "a")
	}, actions: map[time.Duration]func(*engine.Engine){time.Minute: update(altered(service(2, "b", "run_for", "3s"), func(_ *api.Job, u *api.UpdateStrategy) {
		u.Canary, u.AutoRevert = new(1), new(true)
	}))}, lost: true, every: 5},
	"periodic": {lasts: 14 * time.Hour, job: func() *api.Job {
		job := newJob("batch", newTask("t", "run_for", "1m"))
		job.Periodic = &api.PeriodicConfig{Spec: new("30 */12 * * *")}
		return job
	}},
}

// update makes a version the newest. Each call creates a new job, because the
// engine owns it.
func update(job *api.Job) func(*engine.Engine) {
	job.Canonicalize()
	return func(e *engine.Engine) {
		another := *job
		_, _ = e.Register(engine.Registration{Job: &another})
	}
}

// TestDeathAtEveryWrite kills an engine at every write: before and after each
// record of the state and of the history. Another one continues the run, and
// the result is the same as without the death.
func TestDeathAtEveryWrite(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want, without outcome
			var points int
			synctest.Test(t, func(t *testing.T) { want, points = s.play(t, 0, 0) })
			if s.lost {
				idle := s
				idle.actions = nil
				synctest.Test(t, func(t *testing.T) { without, _ = idle.play(t, 0, 0) })
			}
			recovered, lost := 0, 0
			for point := 1; point <= points; point += max(s.every, 1) {
				var got outcome
				synctest.Test(t, func(t *testing.T) { got, _ = s.play(t, point, 0) })
				diff := cmp.Diff(want, got)
				if s.lost && diff != "" && cmp.Equal(without, got) {
					lost++
					continue
				}
				recovered++
				if diff != "" {
					t.Fatalf("death at point %d of %d (-undisturbed +recovered):\n%s", point, points, diff)
				}
				if t.Failed() {
					return
				}
			}
			if recovered == 0 || len(want.History) == 0 {
				t.Errorf("of %d points %d were recovered from and %d lost an action; history %v", points, recovered, lost, want.History)
			}
		})
	}
}

// TestTimeWithoutEngine kills engines, and lets time pass before the next one.
func TestTimeWithoutEngine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"the whole lifecycle", "restarts with a delay", "reschedules", "a leader that ends"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenarios[name]
			var want outcome
			var points int
			synctest.Test(t, func(t *testing.T) { want, points = s.play(t, 0, 0) })
			for point := 1; point <= points; point += 3 {
				var got outcome
				synctest.Test(t, func(t *testing.T) { got, _ = s.play(t, point, 700*time.Millisecond) })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("death at point %d of %d (-undisturbed +recovered):\n%s", point, points, diff)
				}
			}
			if points < 3 || len(want.Starts) == 0 {
				t.Errorf("%d points, starts %v: nothing was checked", points, want.Starts)
			}
		})
	}
}

// durable returns an engine that stores its runs, on a machine.
func durable(world *machine, dataDir string) *engine.Engine {
	return engine.New(engine.Config{
		DataDir: dataDir,
		Drivers: map[string]drivers.Driver{"mock_driver": &link{machine: world, dead: &atomic.Bool{}, known: map[string]bool{}}},
		Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{}, HostEnv: []string{"ODD=\xff", "PATH=/bin"}, Durable: true,
	})
}

func newMachine() *machine { return &machine{Driver: mock.New(), starts: map[string]int{}} }

// leave runs a job for a while, leaves it, and returns the directory of its
// run.
func leave(t *testing.T, world *machine, dataDir string, job *api.Job, after time.Duration) (dir string) {
	t.Helper()
	job.Canonicalize()
	e := durable(world, dataDir)
	if err := e.Submit(job); err != nil {
		t.Fatal(err)
	}
	<-time.After(after)
	run := e.Runs()[0]
	dir = run.Dir
	run.Lock.Close()
	e.Leave()
	<-e.Done()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	return dir
}

// texts returns the published events, as "task: type: text" or "status:
// description".
func texts(sub *event.Subscription) (list []string) {
	for sub.Ready() {
		e, ok := sub.Next(context.Background())
		if !ok {
			break
		}
		switch b := e.Body.(type) {
		case event.TaskEvent:
			list = append(list, e.Task+": "+b.Type+": "+b.DisplayMessage)
		case event.AllocStatus:
			list = append(list, b.Status+": "+b.Description)
		}
	}
	return list
}

func TestLeaveAndRecover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		submitted := newJob("service", newTask("t", "run_for", "1h", "exit_code", int64(9007199254740993), "stdout_repeat", 0))
		submitted.Meta = map[string]string{"a": "<b>"}
		dir := leave(t, world, dataDir, submitted, time.Minute)
		if found, err := engine.Interrupted(dataDir); err != nil || len(found) != 1 || found[0] != dir {
			t.Fatalf("interrupted: %v, %v", found, err)
		}
		<-time.After(time.Minute) // the task continues

		e := durable(world, dataDir)
		sub := e.Subscribe(false)
		if err := e.Recover(engine.Run{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stable := *submitted
		stable.Stable = new(true) // it was deployed
		was, err := json.Marshal(stable)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := json.Marshal(e.Jobs()[0]); err != nil || string(is) != string(was) {
			t.Errorf("the job is %s, %v\nwas %s", is, err, was)
		}
		allocs := e.Allocs()
		if len(allocs) != 1 || allocs[0].Tasks["t"].State != "running" || allocs[0].Healthy == nil || len(allocs[0].Tasks["t"].Events) != 3 {
			t.Fatalf("recovered %+v", allocs)
		}
		if started := allocs[0].Tasks["t"].StartedAt; time.Since(started) != 2*time.Minute {
			t.Errorf("it started %v ago", time.Since(started))
		}
		want := []string{"pending: No tasks have started", "t: Started: Task started by client", "running: Tasks are running"}
		if diff := cmp.Diff(want, texts(sub)); diff != "" {
			t.Errorf("the past (-want +got):\n%s", diff)
		}
		if err := allocs[0].RestartTask(t.Context(), "t"); err != nil {
			t.Error(err)
		}
		<-time.After(time.Second)
		if world.started("t") != 2 {
			t.Errorf("%d starts", world.started("t"))
		}
		e.Stop()
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "recovery")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the state of a run that has ended is there: %v", err)
		}
	})
}

// A stopped periodic job launches nothing under a later engine; a job that it has
// launched continues.
func TestRecoveryOfAStoppedJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		job := newJob("batch", newTask("t", "run_for", "24h"))
		job.Periodic = &api.PeriodicConfig{Spec: new("0 */6 * * *")}
		job.Canonicalize()
		first := durable(world, dataDir)
		if err := first.Submit(job); err != nil {
			t.Fatal(err)
		}
		<-time.After(7 * time.Hour)
		if stopped, err := first.Handle("job").Stop(engine.Deregistration{}); !stopped || err != nil {
			t.Errorf("stopped: %v, %v", stopped, err)
		}
		run := first.Runs()[0]
		run.Lock.Close()
		first.Leave()
		<-first.Done()

		e := durable(world, dataDir)
		if err := e.Recover(engine.Run{Dir: run.Dir}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if stopped, ended := e.Handle("job").Ending(); !stopped || !ended {
			t.Errorf("stopped: %v, ended: %v", stopped, ended)
		}
		<-time.After(10 * time.Hour) // after the time of another launch
		if allocs := e.Allocs(); len(allocs) != 1 || allocs[0].Status != "running" || world.started("t") != 1 {
			t.Errorf("%d starts, %+v", world.started("t"), allocs)
		}
		e.Stop()
		<-e.Done()
		for _, e := range []*engine.Engine{first, e} {
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLostTask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop bool
		want []string
	}{
		"starts again": {false, []string{
			"t: Failed Restoring Task: failed to restore task; it starts again: task not found for given id",
			"pending: No tasks have started", "t: Started: Task started by client", "running: Tasks are running",
		}},
		"while it was stopped": {true, []string{"t: Killed: Task successfully killed", "complete: All tasks have completed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				world, dataDir := newMachine(), t.TempDir()
				job := newJob("service", newTask("t", "run_for", "1h", "kill_after", "3s"))
				job.Canonicalize()
				first := durable(world, dataDir)
				if err := first.Submit(job); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
				run := first.Runs()[0]
				dir := run.Dir
				run.Lock.Close()
				if tt.stop {
					first.Stop()
					<-time.After(time.Second)
				}
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dataDir)); err != nil {
					t.Fatal(err)
				}
				first.Kill()
				<-first.Done()
				rel, err := filepath.Rel(dataDir, dir)
				if err != nil {
					t.Fatal(err)
				}

				e := durable(newMachine(), copied) // no task is running on it
				sub := e.Subscribe(false)
				if err := e.Recover(engine.Run{Dir: filepath.Join(copied, rel)}); err != nil {
					t.Fatal(err)
				}
				<-time.After(10 * time.Second)
				got := texts(sub) // the past comes first
				if diff := cmp.Diff(tt.want, got[max(0, len(got)-len(tt.want)):]); diff != "" || slices.Index(got, tt.want[0]) != len(got)-len(tt.want) {
					t.Errorf("events %q (-want +got):\n%s", got, diff)
				}
				for _, e := range []*engine.Engine{first, e} {
					if err := e.Close(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func TestAllocationWhoseDirectoryIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		dir := leave(t, world, dataDir, newJob("batch", newTask("t", "run_for", "1h"), newTask("u", "run_for", "1h")), time.Minute)
		if err := os.RemoveAll(filepath.Join(dir, "alloc")); err != nil {
			t.Fatal(err)
		}
		e := durable(world, dataDir)
		sub := e.Subscribe(false)
		if err := e.Recover(engine.Run{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		<-e.Done() // at once: no task is left to wait for
		got := texts(sub)
		if last := got[len(got)-1]; !strings.HasPrefix(last, "failed: Unable to add allocation due to error: allocation directory is inaccessible: ") {
			t.Errorf("status %q", got)
		}
		for _, a := range e.Allocs() {
			for name, state := range a.Tasks {
				if state.State != "dead" || !state.Failed {
					t.Errorf("task %s: %+v", name, state)
				}
			}
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestUnrecoverableRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		good := leave(t, world, dataDir, newJob("batch", newTask("t", "run_for", "1h")), time.Minute)
		other := newJob("batch", newTask("t", "run_for", "1h"))
		other.ID = new("other")
		bad := leave(t, world, dataDir, other, time.Minute)
		state := filepath.Join(bad, "recovery", "state")
		if err := os.WriteFile(state, []byte("what is this"), 0o600); err != nil {
			t.Fatal(err)
		}
		e := durable(world, dataDir)
		err := e.Recover(engine.Run{Dir: bad}, engine.Run{Dir: filepath.Join(dataDir, "none")}, engine.Run{Dir: good})
		if err == nil || !strings.Contains(err.Error(), "cannot recover the run in \""+bad) || !strings.Contains(err.Error(), "set aside as \""+state) {
			t.Errorf("error %v", err)
		}
		<-e.Done() // the good one runs to its end
		if allocs := e.Allocs(); len(allocs) != 1 || allocs[0].Status != "complete" || world.started("t") != 2 {
			t.Errorf("%+v", allocs)
		}
		<-time.After(2 * time.Minute) // the task of the other one also ends
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestStateOfARunIsPrivate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		dir := leave(t, world, dataDir, newJob("batch", newTask("t", "run_for", "1s")), time.Millisecond)
		for name, want := range map[string]fs.FileMode{"recovery": fs.ModeDir | 0o700, "recovery/state": 0o600} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		<-time.After(time.Second)
		e := durable(world, dataDir)
		if err := e.Recover(engine.Run{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
