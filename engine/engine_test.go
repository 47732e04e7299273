package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/scratch"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// TestMain keeps the folders of the tests in memory, if it can: making and removing
// them would take half of the time.
func TestMain(m *testing.M) {
	// Thousands of engines come and go in a heap of a few MiB. With the usual
	// value, collecting their garbage takes a third of the time.
	debug.SetGCPercent(800)
	dir := ""
	if os.Getenv("TMPDIR") == "" {
		dir = scratch.InMemory("taskrun-engine-")
	}
	if dir != "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// newJob returns a canonical job with one group, g, and these tasks.
func newJob(jobType string, tasks ...*api.Task) *api.Job {
	g := api.NewTaskGroup("g", 1)
	g.Tasks = tasks
	g.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	job := &api.Job{ID: new("job"), Type: &jobType, TaskGroups: []*api.TaskGroup{g}}
	return job
}

// newTask returns a task for the mock driver that is never restarted. config is
// a list of alternating names and values of the mock driver's options.
func newTask(name string, config ...any) *api.Task {
	t := api.NewTask(name, "mock_driver")
	t.Config = map[string]any{}
	for i := 0; i < len(config); i += 2 {
		t.Config[config[i].(string)] = config[i+1]
	}
	t.RestartPolicy = &api.RestartPolicy{Attempts: new(0), Mode: new("fail")}
	return t
}

func with(t *api.Task, change func(*api.Task)) *api.Task {
	change(t)
	return t
}

func hook(t *api.Task, hook string, sidecar bool) *api.Task {
	t.Lifecycle = &api.TaskLifecycle{Hook: hook, Sidecar: sidecar}
	return t
}

// history is the observed history of a run.
type history struct {
	start  time.Time
	events map[string][]string // of each task: "Type: message"
	states map[string][]string
	status []string // of allocations: "name status: description"
	order  []string // "task state" over all tasks, in order
	deploy []string // of the deployment: "status: description"
	jobs   []string // of allocations, at their starts: "time job"
	notes  []string
	codes  map[string]int
	lasted time.Duration
}

// run runs a job in virtual time. Each action is called at its time after the
// start.
func run(t *testing.T, job *api.Job, actions map[time.Duration]func(*engine.Engine)) (h history) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		job.Canonicalize()
		e := engine.New(engine.Config{
			DataDir: t.TempDir(),
			Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks:   hookcatalog.New(hookcatalog.Options{}),
			Node:    &taskenv.Node{},
		})
		sub := e.Subscribe(true)
		h = history{start: time.Now(), events: map[string][]string{}, states: map[string][]string{}, codes: map[string]int{}}
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		for after, do := range actions {
			defer time.AfterFunc(after, func() { do(e) }).Stop()
		}
		<-e.Done()
		h.lasted = time.Since(h.start)
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for {
			ev, ok := sub.Next(context.Background())
			if !ok {
				break
			}
			h.add(ev)
		}
	})
	return h
}

func (h *history) add(e event.Event) {
	switch body := e.Body.(type) {
	case event.TaskEvent:
		h.events[e.Task] = append(h.events[e.Task], body.Type+": "+body.DisplayMessage)
	case event.TaskState:
		h.states[e.Task] = append(h.states[e.Task], body.State)
		h.order = append(h.order, e.Task+" "+body.State)
		if body.ExitCode != nil {
			h.codes[e.Task] = *body.ExitCode
		}
	case event.Deployment:
		h.deploy = append(h.deploy, fmt.Sprintf("%v %s: %s", e.Time.Sub(h.start), body.Status, body.Description))
	case event.Notice:
		h.notes = append(h.notes, body.Text)
	case event.AllocStatus:
		if body.Description == "No tasks have started" {
			h.jobs = append(h.jobs, fmt.Sprintf("%v %s", e.Time.Sub(h.start), e.Alloc.Job))
		}
		h.status = append(h.status, fmt.Sprintf("%s: %s", body.Status, body.Description))
	}
}

const (
	received = "Received: Task received by client"
	setup    = "Task Setup: Building Task Directory"
	started  = "Started: Task started by client"
	exit0    = "Terminated: Exit Code: 0"
	killing  = "Killing: Sent interrupt. Waiting 5s before force killing"
	killed   = "Killed: Task successfully killed"
	noPolicy = "Not Restarting: Policy allows no restarts"
)

func stop(e *engine.Engine) { e.Stop() }
func kill(e *engine.Engine) { e.Kill() }

// TestEvents compares the events of every task in many situations, one case for
// each of Nomad's rules.
func TestEvents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		job     *api.Job
		actions map[time.Duration]func(*engine.Engine)
		want    map[string][]string
		status  string // the last one
		lasted  time.Duration
	}{
		"batch that ends well": {
			job:    newJob("batch", newTask("t", "run_for", "1h")),
			want:   map[string][]string{"t": {received, setup, started, exit0}},
			status: "complete: All tasks have completed",
			lasted: time.Hour,
		},
		"batch that fails": {
			job:    newJob("batch", newTask("t", "run_for", "1s", "exit_code", 3)),
			want:   map[string][]string{"t": {received, setup, started, "Terminated: Exit Code: 3", noPolicy}},
			status: "failed: Failed tasks",
			lasted: time.Second,
		},
		"a service that ends well has failed": {
			job:    newJob("service", newTask("t", "run_for", "1s")),
			want:   map[string][]string{"t": {received, setup, started, exit0, noPolicy, "Alloc Unhealthy: Unhealthy because of failed task"}},
			status: "failed: Failed tasks",
			lasted: time.Second,
		},
		"an error text of the driver": {
			job:    newJob("batch", newTask("t", "exit_err_msg", `it "broke"`)),
			want:   map[string][]string{"t": {received, setup, started, `Terminated: Exit Code: 0, Exit Message: "it \"broke\""`, noPolicy}},
			status: "failed: Failed tasks",
		},
		"a driver that goes away and comes back": {
			job:    newJob("batch", newTask("t", "run_for", "6s", "plugin_exit_after", "1s")),
			want:   map[string][]string{"t": {received, setup, started, exit0}},
			status: "complete: All tasks have completed",
			lasted: 6 * time.Second,
		},
		"a start that cannot succeed": {
			job: newJob("batch", with(newTask("t", "start_error", "no"), func(t *api.Task) {
				t.RestartPolicy = &api.RestartPolicy{Attempts: new(3)}
			})),
			want:   map[string][]string{"t": {received, setup, "Driver Failure: no", "Not Restarting: Error was unrecoverable"}},
			status: "failed: Failed tasks",
		},
		"config that does not fit the driver": {
			job: newJob("batch", newTask("t", "run_for", "${no.such}")),
			want: map[string][]string{"t": {
				received, setup, "Failed Validation: *", noPolicy,
			}},
			status: "failed: Failed tasks",
		},
		"stop": {
			job:     newJob("service", newTask("t", "run_for", "1h")),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: stop},
			want:    map[string][]string{"t": {received, setup, started, killing, exit0, killed}},
			status:  "complete: All tasks have completed",
			lasted:  time.Minute,
		},
		"stop of a task that takes its time": {
			job:     newJob("service", newTask("t", "run_for", "1h", "kill_after", "3s")),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: stop},
			want:    map[string][]string{"t": {received, setup, started, killing, exit0, killed}},
			status:  "complete: All tasks have completed",
			lasted:  time.Minute + 3*time.Second,
		},
		"kill while it takes its time": {
			job:     newJob("service", newTask("t", "run_for", "1h", "kill_after", "4s")),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: stop, time.Minute + time.Second: kill},
			want:    map[string][]string{"t": {received, setup, started, killing, exit0, killed}},
			status:  "complete: All tasks have completed",
			lasted:  time.Minute + time.Second,
		},
		"kill_timeout is capped": {
			job: newJob("service", with(newTask("t", "run_for", "1h"), func(t *api.Task) {
				t.KillTimeout = new(time.Minute)
			})),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: stop},
			want: map[string][]string{"t": {
				received, setup, started, "Killing: Sent interrupt. Waiting 30s before force killing", exit0, killed,
			}},
			status: "complete: All tasks have completed",
			lasted: time.Minute,
		},
		"stop during a restart delay": {
			job: newJob("batch", with(newTask("t", "run_for", "1s", "exit_code", 1), func(t *api.Task) {
				t.RestartPolicy = &api.RestartPolicy{Attempts: new(1), Delay: new(time.Hour), Interval: new(10 * time.Hour)}
			})),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: stop},
			want: map[string][]string{"t": {
				received, setup, started, "Terminated: Exit Code: 1", "Restarting: Task restarting in *", killing,
			}},
			status: "complete: All tasks have completed",
			lasted: time.Minute,
		},
		"shutdown_delay of the task": {
			job: newJob("service", with(newTask("t", "run_for", "1h"), func(t *api.Task) { t.ShutdownDelay = 10 * time.Second })),
			actions: map[time.Duration]func(*engine.Engine){
				time.Minute: stop,
			},
			want: map[string][]string{"t": {
				received, setup, started, killing,
				"Waiting for shutdown delay: Waiting for shutdown_delay of 10s before killing the task.", exit0, killed,
			}},
			status: "complete: All tasks have completed",
			lasted: time.Minute + 10*time.Second,
		},
		"kill skips shutdown_delay": {
			job: newJob("service", with(newTask("t", "run_for", "1h"), func(t *api.Task) { t.ShutdownDelay = 10 * time.Second })),
			actions: map[time.Duration]func(*engine.Engine){
				time.Minute: kill,
			},
			want: map[string][]string{"t": {
				received, setup, started, killing,
				"Skipping shutdown delay: Skipping shutdown_delay of 10s before killing the task.", exit0, killed,
			}},
			status: "complete: All tasks have completed",
			lasted: time.Minute,
		},
		"shutdown_delay of the group": {
			job: func() *api.Job {
				j := newJob("service", newTask("t", "run_for", "1h"))
				j.TaskGroups[0].ShutdownDelay = new(10 * time.Second)
				return j
			}(),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: stop},
			want:    map[string][]string{"t": {received, setup, started, killing, exit0, killed}},
			status:  "complete: All tasks have completed",
			lasted:  time.Minute + 10*time.Second,
		},
		"max_run_duration": {
			job: func() *api.Job {
				j := newJob("batch", newTask("t", "run_for", "1h"), hook(newTask("after"), "poststop", false))
				j.TaskGroups[0].MaxRunDuration = new(10 * time.Minute)
				return j
			}(),
			want: map[string][]string{
				"t":     {received, setup, started, "Killing: allocation exceeded max_run_duration", exit0, killed},
				"after": {received, "Killing: allocation exceeded max_run_duration"},
			},
			status: "complete: allocation exceeded max_run_duration",
			lasted: 10 * time.Minute,
		},
		"a failed sibling": {
			job: newJob("batch", newTask("bad", "run_for", "1s", "exit_code", 1), newTask("good", "run_for", "1h")),
			want: map[string][]string{
				"bad":  {received, setup, started, "Terminated: Exit Code: 1", noPolicy},
				"good": {received, setup, started, `Sibling Task Failed: Task's sibling "bad" failed`, killing, exit0, killed},
			},
			status: "failed: Failed tasks",
			lasted: time.Second,
		},
		"a leader that ends well": {
			job: newJob("batch",
				with(newTask("lead", "run_for", "1s"), func(t *api.Task) { t.Leader = true }), newTask("other", "run_for", "1h")),
			want: map[string][]string{
				"lead":  {received, setup, started, exit0},
				"other": {received, setup, started, "Leader Task Dead: Leader Task in Group dead", killing, exit0, killed},
			},
			status: "complete: All tasks have completed",
			lasted: time.Second,
		},
		"only sidecars are left": {
			job: newJob("batch", newTask("main", "run_for", "1m"), hook(newTask("side", "run_for", "1h"), "prestart", true)),
			want: map[string][]string{
				"main": {received, setup, started, exit0},
				"side": {received, setup, started, "Main Tasks Dead: Main tasks in the group died", killing, exit0, killed},
			},
			status: "complete: All tasks have completed",
			lasted: time.Minute,
		},
		"a prestart task that fails": {
			job: newJob("batch",
				hook(newTask("pre", "exit_code", 7), "prestart", false), newTask("main"), hook(newTask("after"), "poststop", false)),
			want: map[string][]string{
				"pre":   {received, setup, started, "Terminated: Exit Code: 7", noPolicy},
				"main":  {received, `Sibling Task Failed: Task's sibling "pre" failed`, killing},
				"after": {received, setup, started, exit0},
			},
			status: "failed: Failed tasks",
		},
		"stop runs poststop tasks": {
			job:     newJob("service", newTask("main", "run_for", "1h"), hook(newTask("after", "run_for", "1m"), "poststop", false)),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: stop},
			want: map[string][]string{
				"main":  {received, setup, started, killing, exit0, killed},
				"after": {received, setup, started, exit0},
			},
			status: "complete: All tasks have completed",
			lasted: 2 * time.Minute,
		},
		"kill runs no poststop tasks": {
			job:     newJob("service", newTask("main", "run_for", "1h"), hook(newTask("after", "run_for", "1m"), "poststop", false)),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: kill},
			want: map[string][]string{
				"main":  {received, setup, started, killing, exit0, killed},
				"after": {received, killing},
			},
			status: "complete: All tasks have completed",
			lasted: time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := run(t, tt.job, tt.actions)
			if diff := cmp.Diff(tt.want, h.events, cmp.Comparer(sameEvent)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got := h.status[len(h.status)-1]; got != tt.status {
				t.Errorf("status = %q, want %q", got, tt.status)
			}
			if h.lasted != tt.lasted {
				t.Errorf("lasted %v, want %v", h.lasted, tt.lasted)
			}
		})
	}
}

// sameEvent compares texts, one of which may end in "*".
func sameEvent(a, b string) bool {
	if prefix, ok := strings.CutSuffix(a, "*"); ok {
		return strings.HasPrefix(b, prefix)
	}
	if prefix, ok := strings.CutSuffix(b, "*"); ok {
		return strings.HasPrefix(a, prefix)
	}
	return a == b
}

func TestTheWholeLifecycleRunsInOrder(t *testing.T) {
	t.Parallel()
	h := run(t, newJob("batch",
		hook(newTask("stop", "run_for", "1s"), "poststop", false),
		hook(newTask("post", "run_for", "1s"), "poststart", false),
		newTask("main", "run_for", "5s"),
		hook(newTask("side", "run_for", "1h"), "prestart", true),
		hook(newTask("pre", "run_for", "1s"), "prestart", false),
	), nil)
	want := []string{
		"pre running", "pre dead", "main running", "post running", "post dead", "main dead",
		"side dead", "stop running", "stop dead",
	}
	var got []string
	for _, o := range h.order {
		if !strings.HasSuffix(o, " pending") && o != "side running" { // concurrent with pre, in any order
			got = append(got, o)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if h.lasted != 7*time.Second {
		t.Errorf("lasted %v, want 7s", h.lasted)
	}
}

func TestKillOrder(t *testing.T) {
	t.Parallel()
	slow := func(name string) *api.Task { return newTask(name, "run_for", "1h", "kill_after", "1s") }
	h := run(t, newJob("service",
		hook(slow("side"), "poststart", true),
		slow("main"),
		with(slow("lead"), func(t *api.Task) { t.Leader = true }),
		hook(newTask("after"), "poststop", false),
	), map[time.Duration]func(*engine.Engine){time.Minute: stop})
	var got []string
	for _, o := range h.order {
		if name, ok := strings.CutSuffix(o, " dead"); ok {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff([]string{"lead", "main", "side", "after"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := time.Minute + 3*time.Second; h.lasted != want {
		t.Errorf("lasted %v, want %v", h.lasted, want)
	}
}

func TestRestartsUntilThePolicyEnds(t *testing.T) {
	t.Parallel()
	h := run(t, newJob("service", with(newTask("t", "run_for", "1s", "exit_code", 1), func(t *api.Task) {
		t.RestartPolicy = &api.RestartPolicy{Attempts: new(3), Delay: new(time.Hour), Interval: new(24 * time.Hour), Mode: new("fail")}
	})), nil)
	starts := 0
	for _, e := range h.events["t"] {
		if e == started {
			starts++
		}
	}
	if starts != 4 {
		t.Errorf("started %d times, want 4", starts)
	}
	want := `Not Restarting: Exceeded allowed attempts 3 in interval 24h0m0s and mode is "fail"`
	if got := h.events["t"][len(h.events["t"])-1]; got != want {
		t.Errorf("last event %q, want %q", got, want)
	}
	if h.lasted < 3*time.Hour || h.lasted > 4*time.Hour {
		t.Errorf("lasted %v, want 3 delays of 1h to 1h15m", h.lasted)
	}
}

func TestFailedAllocationIsReplaced(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "1s", "exit_code", 1))
	job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
		Attempts: new(2), Interval: new(24 * time.Hour), Delay: new(time.Hour), DelayFunction: new("constant"), Unlimited: new(false),
	}
	h := run(t, job, nil)
	failures := 0
	for _, s := range h.status {
		if s == "failed: Failed tasks" {
			failures++
		}
	}
	if failures != 3 || h.lasted != 2*time.Hour+3*time.Second {
		t.Errorf("%d allocations failed in %v, want 3 in 2h0m3s", failures, h.lasted)
	}
}

func TestStopWhileWaitingForTheReplacement(t *testing.T) {
	t.Parallel()
	job := newJob("service", newTask("t", "run_for", "1s", "exit_code", 1))
	job.TaskGroups[0].ReschedulePolicy = nil // the default: replaced without limit
	h := run(t, job, map[time.Duration]func(*engine.Engine){10 * time.Second: stop})
	if h.lasted != 10*time.Second {
		t.Errorf("lasted %v, want 10s", h.lasted)
	}
}

func TestCountAndGroups(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("a", "run_for", "1s"))
	job.TaskGroups[0].Count = new(3)
	second := api.NewTaskGroup("second", 2)
	second.Tasks = []*api.Task{newTask("b", "run_for", "2s")}
	job.TaskGroups = append(job.TaskGroups, second)
	h := run(t, job, nil)
	ends := map[string]int{}
	for _, o := range h.order {
		ends[o]++
	}
	if ends["a dead"] != 3 || ends["b dead"] != 2 {
		t.Errorf("ended %v, want 3 times a and twice b", ends)
	}
}

// only returns the only allocation.
func only(e *engine.Engine) engine.Alloc {
	allocs := e.Allocs()
	if len(allocs) != 1 {
		panic(fmt.Sprintf("%d allocations", len(allocs)))
	}
	return allocs[0]
}

const (
	restartingNow = "Restarting: Task restarting in 0s"
	userRestart   = "Restart Signaled: User requested task to restart"
	restartAll    = "Restart Signaled: User requested all tasks to restart"
)

func TestRestartOfATask(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "1h"), newTask("other", "run_for", "1m"))
	errs := map[string]error{}
	h := run(t, job, map[time.Duration]func(*engine.Engine){
		30 * time.Minute: func(e *engine.Engine) {
			errs["t"] = only(e).RestartTask(context.Background(), "t")
			errs["other"] = only(e).RestartTask(context.Background(), "other")
			errs["nobody"] = only(e).RestartTask(context.Background(), "nobody")
		},
	})
	want := map[string][]string{
		"t":     {received, setup, started, userRestart, exit0, restartingNow, started, exit0},
		"other": {received, setup, started, exit0},
	}
	if diff := cmp.Diff(want, h.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if h.lasted != 90*time.Minute {
		t.Errorf("lasted %v, want 1h30m", h.lasted)
	}
	for task, want := range map[string]string{
		"t": "<nil>", "other": "Task not running", "nobody": "Could not find task runner for task: nobody",
	} {
		if got := fmt.Sprint(errs[task]); got != want {
			t.Errorf("restart of %s: %s, want %s", task, got, want)
		}
	}
}

func TestRestartOfTheWholeAllocation(t *testing.T) {
	t.Parallel()
	newAll := func() *api.Job {
		return newJob("batch",
			newTask("main", "run_for", "1h"),
			hook(newTask("pre", "run_for", "1s"), "prestart", false),
			hook(newTask("pre-side", "run_for", "10h"), "prestart", true),
			hook(newTask("post", "run_for", "1s"), "poststart", false),
			hook(newTask("post-side", "run_for", "10h"), "poststart", true),
			hook(newTask("after", "run_for", "1s"), "poststop", false),
		)
	}
	for name, tt := range map[string]struct {
		all  bool
		want map[string]int // restarts
	}{
		"all":     {true, map[string]int{"main": 1, "pre": 1, "pre-side": 1, "post": 1, "post-side": 1, "after": 0}},
		"running": {false, map[string]int{"main": 1, "pre": 0, "pre-side": 1, "post": 0, "post-side": 1, "after": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var err error
			h := run(t, newAll(), map[time.Duration]func(*engine.Engine){
				time.Minute: func(e *engine.Engine) { err = only(e).Restart(context.Background(), tt.all) },
			})
			if err != nil {
				t.Error(err)
			}
			got := map[string]int{}
			for task, events := range h.events {
				got[task] = 0
				for _, e := range events {
					if e == restartingNow {
						got[task]++
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("restarts (-want +got):\n%s", diff)
			}
			if got := h.status[len(h.status)-1]; got != "complete: All tasks have completed" {
				t.Errorf("status %q", got)
			}
			if tt.all {
				// The second round is in the same order as the first.
				order := strings.Join(h.order, ", ")
				first := strings.Index(order, "main running")
				if second := strings.LastIndex(order, "pre dead"); second < first {
					t.Errorf("pre did not run again before main: %s", order)
				}
				if h.events["pre"][4] != restartAll {
					t.Errorf("events of pre: %q", h.events["pre"])
				}
			}
		})
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "1m", "signal_error", "not you"), newTask("u", "run_for", "1m"))
	errs := map[string]error{}
	h := run(t, job, map[time.Duration]func(*engine.Engine){
		time.Second: func(e *engine.Engine) {
			errs["t"] = only(e).Signal(t.Context(), "t", "SIGHUP")
			errs["u"] = only(e).Signal(t.Context(), "u", "SIGHUP")
			errs["bad"] = only(e).Signal(t.Context(), "u", "SIGBOGUS")
			errs["nobody"] = only(e).Signal(t.Context(), "nobody", "SIGHUP")
		},
	})
	sent := "Signaling: Task being sent a signal"
	want := map[string][]string{
		"t": {received, setup, started, sent, exit0}, "u": {received, setup, started, sent, exit0},
	}
	if diff := cmp.Diff(want, h.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for who, want := range map[string]string{
		"t": "not you", "u": "<nil>", "bad": `unknown signal "SIGBOGUS"`, "nobody": "Task not found",
	} {
		if got := fmt.Sprint(errs[who]); got != want {
			t.Errorf("signal to %s: %s, want %s", who, got, want)
		}
	}
}

func TestDeploymentOfAService(t *testing.T) {
	t.Parallel()
	crashes := func(t *api.Task) { t.Config["exit_code"] = 1; t.Config["run_for"] = "5s" }
	for name, tt := range map[string]struct {
		job  *api.Job
		want []string
	}{
		"healthy": {
			newJob("service", newTask("t", "run_for", "1h")),
			[]string{"0s running: Deployment is running", "10s successful: Deployment completed successfully"},
		},
		"a slow start counts from the start": {
			newJob("service", newTask("t", "run_for", "1h", "start_block_for", "30s")),
			[]string{"0s running: Deployment is running", "40s successful: Deployment completed successfully"},
		},
		"crashes for good": {
			newJob("service", with(newTask("t"), crashes)),
			[]string{"0s running: Deployment is running", "5s failed: Failed due to unhealthy allocations"},
		},
		"crashes and is replaced until there is no more time": {
			func() *api.Job {
				j := newJob("service", with(newTask("t"), crashes))
				j.TaskGroups[0].ReschedulePolicy = nil
				return j
			}(),
			[]string{"0s running: Deployment is running", "10m0s failed: Failed due to progress deadline"},
		},
		"batch jobs have none": {newJob("batch", newTask("t", "run_for", "1h")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := run(t, tt.job, map[time.Duration]func(*engine.Engine){30 * time.Minute: stop})
			if diff := cmp.Diff(tt.want, h.deploy); diff != "" {
				t.Errorf("deployment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParameterizedJob(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "${NOMAD_META_FOR}", "exit_code", "${NOMAD_META_CODE}"))
	job.ParameterizedJob = &api.ParameterizedJobConfig{Payload: "required", MetaRequired: []string{"for"}, MetaOptional: []string{"code", "note"}}
	job.TaskGroups[0].Tasks[0].DispatchPayload = &api.DispatchPayloadConfig{File: "in/put.txt"}
	answers := map[string]string{}
	h := run(t, job, map[time.Duration]func(*engine.Engine){
		time.Minute: func(e *engine.Engine) {
			dispatch := func(name, jobID, payload string, meta map[string]string) {
				id, _, err := e.Handle(jobID).Dispatch(engine.Dispatch{Payload: []byte(payload), Meta: meta})
				answers[name] = id
				if err != nil {
					answers[name] = err.Error()
				}
			}
			dispatch("good", "job", "hello", map[string]string{"for": "2m", "code": "3"})
			dispatch("no payload", "job", "", map[string]string{"for": "1m"})
			dispatch("too much", "job", strings.Repeat("x", 16385), map[string]string{"for": "1m"})
			dispatch("no meta", "job", "x", nil)
			dispatch("other meta", "job", "x", map[string]string{"for": "1m", "b": "", "a": ""})
			dispatch("unknown", "nobody", "x", nil)
		},
		time.Hour: stop,
	})
	child := answers["good"]
	delete(answers, "good")
	if !strings.HasPrefix(child, "job/dispatch-") {
		t.Errorf("dispatched as %q", child)
	}
	want := map[string]string{
		"no payload": "Payload is not provided but required by parameterized job",
		"too much":   "Payload exceeds maximum size; 16385 > 16384",
		"no meta":    "Dispatch did not provide required meta keys: [for]",
		"other meta": "Dispatch request included unpermitted metadata keys: [a b]",
		"unknown":    "parameterized job not found",
	}
	if diff := cmp.Diff(want, answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1m0s " + child}, h.jobs); diff != "" {
		t.Errorf("launched (-want +got):\n%s", diff)
	}
	if h.codes["t"] != 3 || h.lasted != time.Hour {
		t.Errorf("exit code %d after %v, want 3 after 1h", h.codes["t"], h.lasted)
	}
}

func TestPeriodicJob(t *testing.T) {
	t.Parallel()
	// The time in a bubble starts at midnight UTC, 2000-01-01.
	periodic := func(runFor string, p api.PeriodicConfig) *api.Job {
		job := newJob("batch", newTask("t", "run_for", runFor))
		job.Periodic = &p
		return job
	}
	for name, tt := range map[string]struct {
		job  *api.Job
		want []string // launch times, by day and time
	}{
		"cron": {
			periodic("1m", api.PeriodicConfig{Spec: new("30 8 * * *")}),
			[]string{"1 08:30", "2 08:30", "3 08:30"},
		},
		"crons": {
			periodic("1m", api.PeriodicConfig{Specs: []string{"0 12 * * *", "0 6 * * *"}}),
			[]string{"1 06:00", "1 12:00", "2 06:00", "2 12:00", "3 06:00", "3 12:00"},
		},
		"time zone": {
			periodic("1m", api.PeriodicConfig{Spec: new("0 0 * * *"), TimeZone: new("Asia/Tokyo")}),
			[]string{"1 15:00", "2 15:00", "3 15:00"},
		},
		"overlap is allowed": {
			periodic("30h", api.PeriodicConfig{Spec: new("0 1 * * *")}),
			[]string{"1 01:00", "2 01:00", "3 01:00"},
		},
		"overlap is prohibited": {
			periodic("30h", api.PeriodicConfig{Spec: new("0 1 * * *"), ProhibitOverlap: new(true)}),
			[]string{"1 01:00", "3 01:00"},
		},
		"not enabled": {
			periodic("1m", api.PeriodicConfig{Spec: new("0 1 * * *"), Enabled: new(false)}),
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := run(t, tt.job, map[time.Duration]func(*engine.Engine){72 * time.Hour: stop})
			var got []string
			for _, j := range h.jobs {
				after, id, _ := strings.Cut(j, " ")
				d, err := time.ParseDuration(after)
				if err != nil || !strings.HasPrefix(id, "job/periodic-") {
					t.Fatalf("launched %q: %v", j, err)
				}
				at := h.start.Add(d).UTC()
				got = append(got, fmt.Sprintf("%d %s", at.Day(), at.Format("15:04")))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPeriodicJobLaunchedByOrder(t *testing.T) {
	t.Parallel()
	job := newJob("batch", newTask("t", "run_for", "1m"))
	job.Periodic = &api.PeriodicConfig{Spec: new("0 0 1 1 *")}
	h := run(t, job, map[time.Duration]func(*engine.Engine){
		time.Second: func(e *engine.Engine) {
			if _, err := e.Handle("job").Launch(); err != nil {
				t.Error(err)
			}
			if _, err := e.Handle("nobody").Launch(); err == nil {
				t.Error("launched a job that is not there")
			}
		},
		time.Minute: stop, // before the launch has ended
	})
	if len(h.jobs) != 1 || h.lasted != time.Minute {
		t.Errorf("launched %q, ended after %v", h.jobs, h.lasted)
	}
}

func TestReplacedAllocationsDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		job := newJob("service", newTask("t", "exit_code", 1))
		job.TaskGroups[0].ReschedulePolicy = nil // replaced without limit
		job.Canonicalize()
		dir := t.TempDir()
		e := engine.New(engine.Config{
			DataDir: dir, Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
		})
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		<-time.After(48 * time.Hour)
		allocs, err := filepath.Glob(filepath.Join(dir, "jobs", "*", "runs", "*", "alloc", "*"))
		if err != nil || len(allocs) == 0 || len(allocs) > 7 {
			t.Errorf("%d allocations on disk: %v", len(allocs), err)
		}
		e.Stop()
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
