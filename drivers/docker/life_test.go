package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/drivertest"
)

// taskOf prepares a task with a config block.
func taskOf(t *testing.T, d *Driver, config string) (*drivers.TaskConfig, *drivertest.Output) {
	t.Helper()
	return drivertest.Task(t, d, config)
}

// launched starts a task, which the end of the test destroys.
func launched(t *testing.T, d *Driver, config string) (*drivers.TaskConfig, *drivertest.Output) {
	t.Helper()
	cfg, out := taskOf(t, d, config)
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.DestroyTask(cfg.ID, true) })
	return cfg, out
}

// resultOfTask waits for the end of a task.
func resultOfTask(t *testing.T, d *Driver, cfg *drivers.TaskConfig) *drivers.ExitResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ch, err := d.WaitTask(ctx, cfg.ID)
	if err != nil {
		t.Fatal(err)
	}
	r := <-ch
	if r == nil {
		t.Fatal("there is no result")
	}
	return r
}

const untilStopped = "trap 'echo stopped; exit 4' TERM; echo ready; sleep 1000 & wait $!"

// ready starts a task that runs until SIGTERM, and then ends with code 4.
func ready(t *testing.T, d *Driver) (*drivers.TaskConfig, *drivertest.Output) {
	t.Helper()
	cfg, out := launched(t, d, script(untilStopped))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := out.Await(ctx, "ready"); err != nil {
		t.Fatal(err)
	}
	return cfg, out
}

// The error of a start says where it failed and whether a retry may succeed. No
// container is left behind.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request     string
		status      int
		want        string
		recoverable bool
	}{
		{"GET /images/image:1/json", 500, `cannot look for image "image:1"`, false},
		{"GET /images/image:1/json", 0, `cannot look for image "image:1"`, true},
		{"POST /containers/create", 400, "failed to create container", false},
		{"POST /containers/create", 0, "failed to create container", true},
		{"POST /containers/.*/attach", 400, "cannot attach to container 000000000000", false},
		{"POST /containers/.*/start", 400, "Failed to start container 0000", false},
		{"POST /containers/.*/start", 404, "Failed to start container 0000", false},
		{"POST /containers/.*/start", 409, "Failed to start container 0000", true},
		{"POST /containers/.*/start", 500, "Failed to start container 0000", true},
		{"POST /containers/.*/start", 0, "Failed to start container 0000", true},
		{"GET /containers/.*/json", 500, "cannot inspect container 000000000000", false},
	} {
		e := newFakeEngine(t)
		e.answer(c.request, -1, c.status, "it is so")
		d := e.driver(t)
		cfg, _ := taskOf(t, d, script("exit 0"))
		_, _, err := d.StartTask(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || drivers.IsRecoverable(err) != c.recoverable {
			t.Errorf("%s %d: recoverable %t: %v", c.request, c.status, drivers.IsRecoverable(err), err)
		}
		if n := e.count(); n != 0 {
			t.Errorf("%s %d: %d containers are left", c.request, c.status, n)
		}
		if _, err := d.InspectTask(cfg.ID); !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("%s %d: the task is there: %v", c.request, c.status, err)
		}
	}
}

// A container that ended or was removed just after its start has started.
func TestContainerIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	for status, words := range map[int]string{404: "no such container", 500: "read /proc/123/cgroup: no such process"} {
		e := newFakeEngine(t)
		e.answer("GET /containers/.*/json", 1, status, words)
		d := e.driver(t)
		if cfg, _ := launched(t, d, script("exit 3")); resultOfTask(t, d, cfg).ExitCode != 3 {
			t.Errorf("%s: its end is unknown", words)
		}
	}
}

// The handle, the status and the result of a task are Nomad's.
func TestLifeOfATask(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	cfg, out := taskOf(t, d, script("echo to stdout; echo to stderr >&2; exit 3"))
	handle, net, err := d.StartTask(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := e.only(t)
	if want := `{"container_id":"` + c.ID + `"}`; string(handle.DriverState) != want || handle.Config != cfg || handle.State != drivers.TaskStateRunning || handle.Version != 1 {
		t.Errorf("the handle is %+v", handle)
	}
	if net == nil || net.IP != "172.17.0.2" || net.AutoAdvertise {
		t.Errorf("it has the network %+v", net)
	}
	if _, _, err := d.StartTask(t.Context(), cfg); err == nil {
		t.Error("it was started twice")
	}
	r := resultOfTask(t, d, cfg)
	if r.ExitCode != 3 || r.Err == nil || r.Err.Error() != "Docker container exited with non-zero exit code: 3" || r.OOMKilled {
		t.Errorf("it ended as %+v", r)
	}
	if stdout, stderr, err := out.All(t.Context()); stdout != "to stdout\n" || stderr != "to stderr\n" || err != nil {
		t.Errorf("it wrote %q, %q, %v", stdout, stderr, err)
	}
	status, err := d.InspectTask(cfg.ID)
	if err != nil || status.Attributes["container_id"] != c.ID || status.Name != "task" || status.ID != cfg.ID || status.State != drivers.TaskStateExited {
		t.Errorf("it is %+v, %v", status, err)
	}
	if status.StartedAt.IsZero() || status.CompletedAt.Before(status.StartedAt) {
		t.Errorf("it ran from %v until %v", status.StartedAt, status.CompletedAt)
	}
	if err := d.DestroyTask(cfg.ID, false); err != nil || e.count() != 0 {
		t.Errorf("%v, %d containers are left", err, e.count())
	}
	if got := e.requests("^DELETE"); len(got) != 1 || !strings.Contains(got[0], "force=1") || !strings.Contains(got[0], "v=1") {
		t.Errorf("it was removed by %q", got)
	}
	if n, err := d.Shutdown(t.Context()); n != 0 || err != nil {
		t.Errorf("%d were left, %v", n, err)
	}
}

// All orders for an unknown task fail.
func TestUnknownTask(t *testing.T) {
	t.Parallel()
	d := newFakeEngine(t).driver(t)
	_, inspect := d.InspectTask("x")
	_, wait := d.WaitTask(t.Context(), "x")
	_, stats := d.TaskStats(t.Context(), "x", time.Second)
	_, run := d.ExecTaskStreaming(t.Context(), "x", &drivers.ExecOptions{})
	for _, err := range []error{
		inspect, wait, stats, run, d.StopTask(t.Context(), "x", 0, ""), d.SignalTask("x", "SIGHUP"), d.DestroyTask("x", true),
	} {
		if !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("error %v", err)
		}
	}
}

// A task is stopped with the signal of the job, or of the image, or SIGTERM,
// and killed after the timeout.
func TestStopSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal, image string
		timeout       time.Duration
		stubborn      bool
		sent          []string
	}{
		{sent: []string{"SIGTERM"}, timeout: 30 * time.Second},
		{signal: "SIGINT", image: "SIGUSR1", sent: []string{"SIGINT"}, timeout: 30 * time.Second},
		{image: "SIGUSR1", sent: []string{"SIGUSR1"}, timeout: 30 * time.Second},
		{sent: []string{"SIGKILL"}},
		{sent: []string{"SIGTERM", "SIGKILL"}, timeout: 50 * time.Millisecond, stubborn: true},
	} {
		e := newFakeEngine(t)
		d := e.driver(t)
		text := "trap 'exit 4' TERM INT USR1; "
		if c.stubborn {
			text = "trap '' TERM; "
		}
		cfg, out := launched(t, d, script(text+"echo ready; sleep 1000 & wait $!"))
		if err := out.Await(t.Context(), "ready"); err != nil {
			t.Fatal(err)
		}
		e.set(func() {
			for _, x := range e.containers {
				x.Config.StopSignal = c.image
			}
		})
		if err := d.DestroyTask(cfg.ID, false); err == nil || err.Error() != "cannot destroy running task" {
			t.Errorf("%+v: while it runs: %v", c, err)
		}
		if err := d.StopTask(t.Context(), cfg.ID, c.timeout, c.signal); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		want := 4
		if slices.Contains(c.sent, "SIGKILL") {
			want = 137
		}
		if r := resultOfTask(t, d, cfg); r.ExitCode != want {
			t.Errorf("%+v: it ended as %+v", c, r)
		}
		var sent []string
		for _, r := range e.requests("/kill") {
			sent = append(sent, r[strings.LastIndexByte(r, '=')+1:])
		}
		if !slices.Equal(sent, c.sent) {
			t.Errorf("%+v: sent were %q", c, sent)
		}
		if err := d.StopTask(t.Context(), cfg.ID, c.timeout, c.signal); err != nil || len(e.requests("/kill")) != len(sent) {
			t.Errorf("%+v: stopped again: %v", c, err)
		}
	}
}

// An unknown signal is an error, and so is one that cannot be sent.
func TestSignals(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	cfg, out := ready(t, d)
	if err := d.StopTask(t.Context(), cfg.ID, time.Minute, "NOPE"); err == nil || !strings.Contains(err.Error(), `cannot stop task "task"`) {
		t.Error(err)
	}
	if err := d.SignalTask(cfg.ID, "NOPE"); err == nil || len(e.requests("/kill")) > 0 {
		t.Errorf("%v, sent %q", err, e.requests("/kill"))
	}
	e.answer("POST .*/kill", 1, 500, "it is busy")
	if err := d.SignalTask(cfg.ID, "SIGHUP"); err == nil || !strings.Contains(err.Error(), "cannot send SIGHUP to container 000000000000") {
		t.Error(err)
	}
	e.answer("POST .*/kill", 1, 500, "it is busy")
	if err := d.StopTask(t.Context(), cfg.ID, 0, ""); err == nil || !strings.Contains(err.Error(), "cannot send SIGKILL") {
		t.Error(err)
	}
	if err := d.SignalTask(cfg.ID, "SIGTERM"); err != nil {
		t.Error(err)
	}
	if r := resultOfTask(t, d, cfg); r.ExitCode != 4 || !strings.Contains(out.Stdout(), "stopped") {
		t.Errorf("it ended as %+v", r)
	}
}

// A signal that the engine does not send is tried again. If the engine never sends
// it, or does not even answer, the container is killed after the timeout.
func TestStopOfABusyEngine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request string
		times   int
		status  int
		timeout time.Duration
		code    int
	}{
		"the signal fails once":     {"POST .*signal=SIGTERM", 1, 500, time.Minute, 4},
		"it cannot inspect at once": {"GET .*/containers/.*/json", 1, 500, time.Minute, 4},
		"the connection breaks":     {"POST .*signal=SIGTERM", 1, 0, time.Minute, 4},
		"it never sends the signal": {"POST .*signal=SIGTERM", -1, 500, 50 * time.Millisecond, 137},
		"it does not answer":        {"POST .*signal=SIGTERM", -1, silence, 50 * time.Millisecond, 137},
		"nor about the container":   {"GET .*/containers/.*/json", 1, silence, 50 * time.Millisecond, 137},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newFakeEngine(t)
			d := e.driver(t)
			events := listen(t, d)
			cfg, _ := ready(t, d)
			e.answer(c.request, c.times, c.status, "it is busy")
			if err := d.StopTask(t.Context(), cfg.ID, c.timeout, ""); err != nil {
				t.Error(err)
			}
			if r := resultOfTask(t, d, cfg); r.ExitCode != c.code {
				t.Errorf("it ended as %+v", r)
			}
			events.await(t, "The Docker engine has not sent the signal, trying again")
		})
	}
}

// It is no error if a container ends before the signal arrives.
func TestStopOfAnEndedJob(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 409} {
		e := newFakeEngine(t)
		d := e.driver(t)
		cfg, _ := ready(t, d)
		e.answer("POST .*/kill.*signal=SIGTERM", 1, status, "it has ended")
		if err := d.StopTask(t.Context(), cfg.ID, time.Minute, ""); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if r := resultOfTask(t, d, cfg); r.ExitCode != 137 {
			t.Errorf("%d: it ended as %+v", status, r)
		}
	}
}

// Shutdown removes the containers of the run, and reports a failure.
func TestShutdownRemovesContainers(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	if n, err := d.Shutdown(t.Context()); n != 0 || err != nil || len(e.requests("")) > 0 {
		t.Errorf("unused: %d, %v, %q", n, err, e.requests(""))
	}
	ready(t, d)
	ready(t, d)
	e.answer("DELETE", 1, 500, "it is busy")
	if n, err := d.Shutdown(t.Context()); n != 1 || err == nil || !strings.Contains(err.Error(), "it is busy; taskrun clean removes leftovers") {
		t.Errorf("%d removed, %v", n, err)
	}
	if n, err := d.Shutdown(t.Context()); n != 1 || err != nil || e.count() != 0 {
		t.Errorf("%d removed, %v, left %d", n, err, e.count())
	}
	e.answer("GET /containers/json", 1, 500, "it is busy")
	if _, err := d.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot list the containers of run") {
		t.Error(err)
	}
}

// Remove waits for a removal in progress; a missing container is no error.
func TestRemoveContainer(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	cfg, _ := ready(t, d)
	cli, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	id := e.only(t).ID
	e.answer("DELETE", 1, 409, "removal is in progress")
	removed := make(chan error, 1)
	go func() { removed <- daemon.Remove(t.Context(), cli, id) }()
	for len(e.requests("wait.*condition=removed")) == 0 {
		select {
		case err := <-removed:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := d.DestroyTask(cfg.ID, true); err != nil {
		t.Error(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	if err := daemon.Remove(t.Context(), cli, id); err != nil {
		t.Error(err)
	}
	e.answer("DELETE", 2, 409, "removal is in progress")
	if err := daemon.Remove(t.Context(), cli, id); err != nil { // it need not be waited for either
		t.Error(err)
	}
	e.answer(".*wait", 1, 500, "it is busy")
	if err := daemon.Remove(t.Context(), cli, id); err == nil || !strings.Contains(err.Error(), "cannot remove container 000000000000") {
		t.Error(err)
	}
	for id, want := range map[string]string{"": "", "abc": "abc", "0123456789abcdef": "0123456789ab"} {
		if got := daemon.ShortID(id); got != want {
			t.Errorf("%q is shortened to %q", id, got)
		}
	}
}

// A container of an earlier start with the same name is removed, a limited number
// of times.
func TestNameIsTaken(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	e.answer("POST /containers/create", 2, 409, "the name is in use")
	launched(t, d, script("exit 0"))
	if made, gone := e.requests("/create"), e.requests("^DELETE /containers/task-"); len(made) != 3 || len(gone) != 2 {
		t.Errorf("made by %q, removed by %q", made, gone)
	}
	e = newFakeEngine(t)
	d = e.driver(t)
	e.answer("POST /containers/create", -1, 409, "the name is in use")
	cfg, _ := taskOf(t, d, "container_exists_attempts = 1\n"+script("exit 0"))
	if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "the name is in use") || len(e.requests("/create")) != 2 {
		t.Errorf("%v after %d attempts", err, len(e.requests("/create")))
	}
	e.answer("DELETE", 1, 500, "it is busy")
	if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "Failed to purge container task-"+cfg.AllocID) {
		t.Error(err)
	}
}

// While the engine is away its containers continue. When it is back, the output
// of the meantime and the end of the task are known.
func TestEngineIsAway(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		e := newFakeEngine(t)
		d := e.driver(t)
		events := listen(t, d)
		cfg, out := launched(t, d, script("trap 'echo two; exit 4' TERM; echo one; sleep 1000 & wait $!"))
		if err := out.Await(t.Context(), "one\n"); err != nil {
			t.Fatal(err)
		}
		pid := e.only(t).State.Pid
		e.goAway()
		events.await(t, "The Docker engine no longer answers, waiting 1m0s for it")
		stop := func() {
			if err := signalTo(pid); err != nil {
				t.Error(err)
			}
		}
		if ends {
			stop()
			e.await(t, func() bool { return e.containerState() == container.StateExited })
		}
		e.comeBack()
		if !ends {
			e.await(t, func() bool {
				return slices.ContainsFunc(e.asked, func(r string) bool { return strings.Contains(r, "not-running") })
			})
			stop()
		}
		if r := resultOfTask(t, d, cfg); r.ExitCode != 4 {
			t.Errorf("it ended as %+v", r)
		}
		if stdout, _, err := out.All(t.Context()); err != nil || stdout != "one\ntwo\n" {
			t.Errorf("it wrote %q, %v", stdout, err)
		}
		if status, err := d.InspectTask(cfg.ID); err != nil || status.CompletedAt.Before(status.StartedAt) {
			t.Errorf("it ran from %v until %v, %v", status.StartedAt, status.CompletedAt, err)
		}
	}
}

// The task ends if its container is missing when the engine is back, or if the
// engine stays away.
func TestContainerIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		absence time.Duration
		want    string
	}{{time.Minute, "is gone: "}, {time.Nanosecond, "the Docker engine is gone, and with it container 000000000000"}} {
		e := newFakeEngine(t)
		d := New(Config{Host: e.host(), Absence: c.absence})
		t.Cleanup(func() { _, _ = d.Shutdown(context.Background()) })
		events := listen(t, d)
		cfg, _ := ready(t, d)
		x := e.only(t)
		e.goAway()
		if c.absence > time.Second {
			events.await(t, "no longer answers")
			e.set(func() {
				e.end(x)
				delete(e.containers, x.ID)
			})
			e.comeBack()
		}
		if r := resultOfTask(t, d, cfg); r.ExitCode != -1 || r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
			t.Errorf("it ended as %+v", r)
		}
		e.comeBack()
	}
}

// If the rest of the output is lost, an event says so.
func TestOutputIsLost(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	events := listen(t, d)
	cfg, _ := ready(t, d)
	e.answer("GET .*/logs.*follow", -1, 500, "it is busy")
	e.server.CloseClientConnections()
	if lost := events.await(t, "The output of the task is lost from here on"); lost.Err == nil || lost.AllocID != cfg.AllocID || lost.TaskName != cfg.Name {
		t.Errorf("the event is %+v", lost)
	}
	if err := d.StopTask(t.Context(), cfg.ID, time.Minute, ""); err != nil {
		t.Error(err)
	}
}

// The error of a result is in the engine's words, or in Nomad's.
func TestResultOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state container.State
		want  string
		oom   bool
	}{
		{container.State{}, "<nil>", false},
		{container.State{ExitCode: 2}, "Docker container exited with non-zero exit code: 2", false},
		{container.State{ExitCode: 2, Error: "no such file"}, "docker: no such file", false},
		{container.State{ExitCode: 137, OOMKilled: true, Error: "x"}, "OOM Killed", true},
	} {
		if r := (&task{front: dockerFront}).resultOf(&c.state); fmt.Sprint(r.Err) != c.want || r.ExitCode != c.state.ExitCode || r.OOMKilled != c.oom {
			t.Errorf("%+v: %+v", c.state, r)
		}
	}
}

// A command is missing only according to the engine's error, not to its own
// output.
func TestMissing(t *testing.T) {
	t.Parallel()
	const failed = "OCI runtime exec failed: exec failed: unable to start container process: "
	for output, want := range map[string]bool{
		failed + `exec: "x": executable file not found in $PATH: unknown`:         true,
		failed + `exec: "/x": stat /x: no such file or directory: unknown`:        true,
		failed + `exec: "/etc": permission denied: unknown`:                       false,
		failed + `chdir to cwd ("/x") failed: no such file or directory: unknown`: false,
		`sh: OCI runtime exec failed: exec: "x": executable file not found`:       false,
		`x: exec: "y": executable file not found`:                                 false,
	} {
		if got := missing([]byte(output)); got != want {
			t.Errorf("%s: %t", output, got)
		}
	}
}

// The answer to a wait counts if the container cannot be inspected.
func TestEndThatCannotBeInspected(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	cfg, _ := ready(t, d)
	e.answer("GET /containers/0*1/json", -1, 500, "it is busy")
	if err := d.SignalTask(cfg.ID, "SIGTERM"); err != nil {
		t.Fatal(err)
	}
	if r := resultOfTask(t, d, cfg); r.ExitCode != 4 || r.Err == nil || !strings.Contains(r.Err.Error(), "exit code: 4") {
		t.Errorf("it ended as %+v", r)
	}

	e = newFakeEngine(t)
	d = e.driver(t)
	e.answer("POST .*/wait", 1, 200, `{"StatusCode":5,"Error":{"Message":"it broke"}}`)
	e.answer("GET /containers/0*1/json", -1, 404, "no such container")
	cfg, _ = launched(t, d, script("exit 0"))
	if r := resultOfTask(t, d, cfg); r.ExitCode != 5 || r.Err == nil || r.Err.Error() != "docker: it broke" {
		t.Errorf("it ended as %+v", r)
	}
}

// A task is found by its handle, or by its label, unless it was never started
// or is gone.
func TestRecoverWithoutAnEngine(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	first := New(Config{Host: e.host(), Run: "first"})
	cfg, out := taskOf(t, first, script(untilStopped))
	handle, _, err := first.StartTask(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	started := e.only(t).State.StartedAt
	for _, intended := range []bool{false, true} {
		d := e.driver(t)
		again, out := taskOf(t, d, script(untilStopped))
		again.ID, again.AllocID, again.AllocDir = cfg.ID, cfg.AllocID, cfg.AllocDir
		h := &drivers.TaskHandle{Version: 1, Config: again, DriverState: handle.DriverState}
		if intended {
			h.DriverState = nil
		}
		if err := errors.Join(d.RecoverTask(h), d.RecoverTask(h)); err != nil {
			t.Fatal(err)
		}
		status, err := d.InspectTask(cfg.ID)
		if err != nil || status.StartedAt.Format(time.RFC3339Nano) != started || status.State != drivers.TaskStateRunning {
			t.Errorf("it is %+v, %v, started at %s", status, err, started)
		}
		if intended {
			if err := d.StopTask(t.Context(), cfg.ID, time.Minute, ""); err != nil {
				t.Error(err)
			}
			if r := resultOfTask(t, d, again); r.ExitCode != 4 || !strings.Contains(out.Stdout(), "stopped") || strings.Contains(out.Stdout(), "ready") {
				t.Errorf("it ended as %+v, and wrote %q", r, out.Stdout())
			}
			ended := e.driver(t)
			if err := ended.RecoverTask(h); err != nil {
				t.Fatal(err)
			}
			if r := resultOfTask(t, ended, again); r.ExitCode != 4 {
				t.Errorf("found again it has ended as %+v", r)
			}
			if n, err := ended.Shutdown(t.Context()); n != 1 || err != nil || e.count() != 0 {
				t.Errorf("the run that was adopted: %d removed, %v", n, err)
			}
			if err := e.driver(t).RecoverTask(h); !errors.Is(err, drivers.ErrTaskNotFound) {
				t.Errorf("when it is gone: %v", err)
			}
		}
	}
}

func TestRecoverFails(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	cfg, _ := taskOf(t, d, script("exit 0"))
	for name, c := range map[string]struct {
		state   string
		request string
		status  int
		text    string
		want    string
	}{
		"no JSON":     {state: "nonsense", want: "its state cannot be read"},
		"no list":     {request: "GET /containers/json", status: 500, want: "cannot look for the container of task " + cfg.ID},
		"no answer":   {state: `{"container_id":"abc"}`, request: "GET /containers/abc", status: 500, want: "cannot inspect container abc"},
		"nothing":     {state: `{"container_id":"abc"}`, request: "GET /containers/abc", status: 200, text: `{"Id":"abc"}`, want: "the engine has no state of container abc"},
		"no config":   {state: `{"container_id":"abc"}`, request: "GET /containers/abc", status: 200, text: `{"Id":"abc","State":{}}`, want: "the engine has no state of container abc"},
		"was created": {state: `{"container_id":"abc"}`, request: "GET /containers/abc", status: 200, text: `{"Id":"abc","State":{"Status":"created"},"Config":{}}`, want: drivers.ErrTaskNotFound.Error()},
	} {
		if c.request != "" {
			e.answer(c.request, 1, c.status, c.text)
		}
		err := d.RecoverTask(&drivers.TaskHandle{Config: cfg, DriverState: []byte(c.state)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := e.requests("^DELETE"); len(got) != 1 {
		t.Errorf("what was created is removed by %q", got)
	}
	e.answer("GET /containers/abc", 1, 200, `{"Id":"abc","State":{"Status":"created"},"Config":{}}`)
	e.answer("DELETE", 1, 500, "it is busy")
	if err := d.RecoverTask(&drivers.TaskHandle{Config: cfg, DriverState: []byte(`{"container_id":"abc"}`)}); err == nil || errors.Is(err, drivers.ErrTaskNotFound) {
		t.Error(err)
	}
	for _, h := range []*drivers.TaskHandle{nil, {}} {
		if err := d.RecoverTask(h); err == nil {
			t.Error("nothing was recovered")
		}
	}
}

// A task has no output if the engine does not keep it, or if it should not be
// collected.
func TestUncollectedOutput(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	d := e.driver(t)
	cfg, out := launched(t, d, "logging {\n\ttype = \"none\"\n}\n"+script("echo one"))
	resultOfTask(t, d, cfg)
	if stdout, _, err := out.All(t.Context()); stdout != "" || err != nil || len(e.requests("attach|logs")) > 0 {
		t.Errorf("it wrote %q, %v", stdout, err)
	}
	cfg, _ = taskOf(t, d, "logging {\n\ttype = \"none\"\n}\n"+script(untilStopped))
	handle, _, err := d.StartTask(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	second := e.driver(t)
	if err := second.RecoverTask(&drivers.TaskHandle{Version: 1, Config: cfg, DriverState: handle.DriverState}); err != nil {
		t.Fatal(err)
	}
	if err := second.StopTask(t.Context(), cfg.ID, time.Minute, ""); err != nil {
		t.Error(err)
	}
	resultOfTask(t, second, cfg)
	if asked := e.requests("attach|logs"); len(asked) > 0 {
		t.Errorf("of a task that was found again it asked %v", asked)
	}
	cfg, out = launched(t, d, "tty = true\n"+script("echo one"))
	resultOfTask(t, d, cfg)
	if stdout, stderr, err := out.All(t.Context()); stdout != "one\n" || stderr != "" || err != nil {
		t.Errorf("a terminal shows %q, %q, %v", stdout, stderr, err)
	}
}

// The mark of the output is in a file, for another instance of the program.
func TestMarkOfTheOutput(t *testing.T) {
	t.Parallel()
	cfg := &drivers.TaskConfig{AllocDir: t.TempDir(), Name: "task"}
	m, at, tail := openMark(cfg)
	if at != 0 || tail != nil {
		t.Errorf("a new mark has %d, %q", at, tail)
	}
	m.setTime(1234567890123456789)
	m.setTail([]byte("one\n"))
	m.close()
	m, at, tail = openMark(cfg)
	if at != 1234567890123456789 || string(tail) != "one\n" {
		t.Errorf("the mark has %d, %q", at, tail)
	}
	m.setTail(nil)
	m.close()
	m, _, tail = openMark(cfg)
	if len(tail) > 0 {
		t.Errorf("the mark has %q", tail)
	}
	m.close()
	long := strings.Repeat("x", tailLength)
	m, _, _ = openMark(cfg)
	m.setTail([]byte(long))
	m.close()
	m, _, tail = openMark(cfg)
	if string(tail) != long {
		t.Errorf("the mark has %d bytes", len(tail))
	}
	m.close()
	for text, want := range map[string]string{"9999rest": "", "-001rest": "", "0005rest": "", "0004rest": "rest", "noneofit": ""} {
		if err := os.WriteFile(markFile(cfg), append([]byte(strings.Repeat(" ", tailAt)), text...), 0o600); err != nil {
			t.Fatal(err)
		}
		m, at, tail := openMark(cfg)
		if at != 0 || string(tail) != want {
			t.Errorf("%q is read as %d, %q", text, at, tail)
		}
		m.close()
	}
	if err := os.Remove(markFile(cfg)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(markFile(cfg), 0o700); err != nil {
		t.Fatal(err)
	}
	m, at, tail = openMark(cfg)
	m.setTime(1)
	m.setTail(nil)
	m.close() // no-ops without a file
	if m.file != nil || at != 0 || tail != nil {
		t.Errorf("without a file the mark has %d, %q", at, tail)
	}
	if _, err := os.Stat(filepath.Dir(markFile(cfg))); err != nil {
		t.Error(err)
	}
}

// TestOutputCloses checks the open files of a task's output.
func TestOutputCloses(t *testing.T) {
	t.Parallel()
	cfg, out := taskOf(t, New(Config{}), `image = "x"`)
	o, err := openOutput(cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	mark := o.mark.file
	for range 2 {
		o.close(0)
	}
	if err := mark.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the mark was open: %v", err)
	}
	if _, _, err := out.All(t.Context()); err != nil {
		t.Errorf("the output is open: %v", err)
	}
}

// A container that joins its group's network has the hostname with Docker. Podman
// shares the network without it, and allows to set it.
func TestHostnameInAGroup(t *testing.T) {
	t.Parallel()
	for engine, want := range map[string]string{"Engine": "", "Podman Engine": "box"} {
		e := newFakeEngine(t)
		d := e.driver(t)
		e.answer("GET /version", 1, 200, `{"Components":[{"Name":"`+engine+`"}]}`)
		cfg, _ := taskOf(t, d, script("sleep 1000"))
		cfg.Network = &drivers.NetworkIsolation{ID: "group", Hostname: "box"}
		if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := e.only(t).Config.Hostname; got != want {
			t.Errorf("%s: hostname %q", engine, got)
		}
		if err := d.DestroyTask(cfg.ID, true); err != nil {
			t.Error(err)
		}
	}
}

// A recovered task that writes nothing can be stopped at once, although Podman
// answers the request for its log with the first line only.
func TestRecoverASilentTask(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	first := New(Config{Host: e.host(), Run: "first"})
	cfg, out := taskOf(t, first, script(untilStopped))
	handle, _, err := first.StartTask(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	e.answer("GET .*/logs.*follow", -1, silence, "")
	d := e.driver(t)
	if err := d.RecoverTask(handle); err != nil {
		t.Fatal(err)
	}
	if err := d.SignalTask(cfg.ID, "SIGKILL"); err != nil {
		t.Error(err)
	}
	if err := d.DestroyTask(cfg.ID, true); err != nil {
		t.Error(err)
	}
}
