package httpapi_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/event"
)

// A signal is sent to one task or to all, and the response names each task that
// did not get it.
func TestSignals(t *testing.T) {
	t.Parallel()
	lame := newTask("lame", "run_for", "1h", "signal_error", "no ears")
	f := serve(t, newJob("one", "batch", newTask("fine", "run_for", "1h"), lame), newJob("both", "batch", lame, newTask("dumb", "run_for", "1h", "signal_error", "no ears")),
		newJob("none", "batch", newTask("alone", "run_for", "1h")))
	for _, id := range []string{"one", "both", "none"} {
		f.untilJobIs(id, "running")
	}
	failed := func(task string) string { return "\t* Failed to signal task: " + task + ", err: no ears\n" }
	for job, want := range map[string]string{
		"one":  "500 1 error occurred:\n" + failed("lame"),
		"both": "500 2 errors occurred:\n" + failed("lame") + failed("dumb"),
		"none": `200 {"Index":0}`,
	} {
		alloc := get[[]*api.AllocationListStub](f, "/v1/job/"+job+"/allocations")[0].ID
		follow(f, "/v1/allocation/"+alloc, func(a *api.Allocation) bool {
			for _, s := range a.TaskStates {
				if s.State != "running" {
					return false
				}
			}
			return true
		})
		f.answers(t, map[string]string{`PUT /v1/client/allocation/` + alloc + `/signal {"Signal":"SIGUSR1"}`: want})
		for task, state := range f.alloc(alloc).TaskStates {
			signaled := slices.ContainsFunc(state.Events, func(e *api.TaskEvent) bool { return e.Type == "Signaling" })
			if task == "fine" && !signaled {
				t.Error("the task that can be signaled was not")
			}
		}
	}
}

// All tasks of an allocation are restarted, or one of them.
func TestRestarts(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("a", "run_for", "1h"), newTask("b", "run_for", "1h")))
	alloc := f.running("a").ID
	restarts := func(a, b uint64) {
		t.Helper()
		follow(f, "/v1/allocation/"+alloc, func(now *api.Allocation) bool {
			one, two := now.TaskStates["a"], now.TaskStates["b"]
			return one.State == "running" && two.State == "running" && one.Restarts == a && two.Restarts == b
		})
	}
	restarts(0, 0)
	path := "PUT /v1/client/allocation/" + alloc + "/restart "
	f.answers(t, map[string]string{path + "{}": `200 {"Index":0}`})
	restarts(1, 1)
	f.answers(t, map[string]string{path + `{"TaskName":"b"}`: `200 {"Index":0}`})
	restarts(1, 2)
	f.answers(t, map[string]string{path + `{"AllTasks":true}`: `200 {"Index":0}`})
	restarts(2, 3)
}

// stuckDriver is a driver whose tasks end only when the test lets them.
type stuckDriver struct {
	drivers.Driver
	end chan struct{}
}

func (d stuckDriver) StopTask(ctx context.Context, id string, timeout time.Duration, signal string) error {
	<-d.end
	return d.Driver.StopTask(ctx, id, timeout, signal)
}

// An allocation keeps the job with which it was placed, even when that has another
// version, or was purged.
func TestJobOfAnAllocation(t *testing.T) {
	t.Parallel()
	dataDir, end := t.TempDir(), make(chan struct{})
	f := serveEngine(t, func(cfg *engine.Config) {
		cfg.Resident, cfg.DataDir, cfg.StateDir = true, dataDir, filepath.Join(dataDir, "agent")
		cfg.Drivers["mock_driver"] = stuckDriver{cfg.Drivers["mock_driver"], end}
	}, func(*httpapi.Config) {})
	if err := f.engine.Recover(); err != nil {
		t.Fatal(err)
	}
	f.submit(newJob("job", "service", newTask("t", "run_for", "1h")), nil)
	id := f.running("t").ID
	first := follow(f, "/v1/job/job", func(j *api.Job) bool { return *j.Status == "running" })
	both := func() []*api.Job {
		return []*api.Job{f.alloc(id).Job, get[[]*api.Allocation](f, "/v1/node/"+nodeID+"/allocations")[0].Job}
	}
	check := func(when string) {
		t.Helper()
		for _, of := range both() {
			if of == nil || *of.ID != "job" || *of.Status != "pending" || *of.Stop || *of.Version != 0 ||
				when != "purged" && (*of.JobModifyIndex != *first.JobModifyIndex || *of.ModifyIndex != *first.JobModifyIndex || *of.CreateIndex != *first.CreateIndex) {
				t.Errorf("%s: the job of the allocation is %+v", when, of)
			}
		}
	}
	check("running")
	if _, _, err := f.client.Jobs().Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	check("stopped")
	if _, _, err := f.client.Jobs().Deregister("job", true, nil); err != nil {
		t.Fatal(err)
	}
	check("purged")
	close(end)
}

// A task that is not running cannot run a command.
func TestExecInATaskThatDoesNotRun(t *testing.T) {
	t.Parallel()
	last := newTask("last", "run_for", "1h")
	last.Lifecycle = &api.TaskLifecycle{Hook: "poststop"}
	first := newTask("first")
	first.Lifecycle = &api.TaskLifecycle{Hook: "prestart"}
	f := serve(t, newJob("job", "batch", first, newTask("main", "run_for", "1h"), last))
	alloc := f.running("main").ID
	for query, want := range map[string]string{
		`task=last&command=["a"]`:           `task "last" not started yet.`,
		`task=first&command=["a"]`:          `task "first" is not running.`,
		`task=main&command=["a"]&term=a%00`: "invalid kind of terminal",
	} {
		_, _, err := f.dial("/v1/client/allocation/" + alloc + "/exec?tty=false&" + query).ReadMessage()
		if err == nil || !strings.HasSuffix(err.Error(), "1008 (policy violation): "+want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}

// The parameter run stops the whole run, like Ctrl-C, or kills it.
func TestStopTheRun(t *testing.T) {
	t.Parallel()
	for how, kill := range map[string]bool{"stop": false, "kill": true} {
		stopped := make(chan bool, 1)
		f := serveWith(t, func(c *httpapi.Config) { c.StopRun = func(kill bool) { stopped <- kill } }, newJob("job", "batch", newTask("t", "run_for", "1h")))
		f.answers(t, map[string]string{"DELETE /v1/job/job?run=" + how: `200 {"EvalID":"",…`})
		if got := <-stopped; got != kill {
			t.Errorf("%s: kill is %v", how, got)
		}
	}
	f := serve(t, newJob("job", "batch", newTask("t", "run_for", "1h")))
	f.answers(t, map[string]string{"DELETE /v1/job/job?run=stop": "400 …"}) // it cannot be stopped
}

// One task is stopped and started through the calls with which Nomad Enterprise pauses
// tasks.
func TestPause(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("a", "run_for", "1h"), newTask("b", "run_for", "1h")))
	alloc := f.running("a").ID
	of := &api.Allocation{ID: alloc}
	set := func(task, state, want string) {
		t.Helper()
		err := f.client.Allocations().SetPauseState(of, nil, task, state)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s %s: %v, want %q", state, task, err, want)
		}
	}
	is := func(task, want string) {
		t.Helper()
		if got, _, err := f.client.Allocations().GetPauseState(of, nil, task); got != want || err != nil {
			t.Errorf("%s is %q, %v; want %q", task, got, err, want)
		}
	}
	is("a", "")
	set("a", "pause", "")
	is("a", "force_pause")
	is("b", "")
	if s := f.alloc(alloc).TaskStates["a"]; s.State != "pending" || !event.Halted(s.Events) {
		t.Errorf("%+v", s)
	}
	set("a", "pause", `task "a" is stopped already`)
	set("a", "run", "")
	is("a", "")
	set("a", "scheduled", `task "a" was not stopped`)
	set("a", "later", `unknown schedule state "later"`)
	set("nobody", "pause", "Task not found")
	if _, _, err := f.client.Allocations().GetPauseState(of, nil, "nobody"); err == nil {
		t.Error("an unknown task has a state")
	}
}
