package play_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/report/recording"
	"taskrun/engine/leaf/event"
)

// recorded maps each job with a recording of Nomad to the mocks that play the
// commands of its tasks. Tasks of mock_driver need none.
var recorded = map[string]string{ //nolint:gochecknoglobals // a table
	"runs/mock-ok":           ``,
	"runs/mock-exit-code":    ``,
	"runs/mock-exit-signal":  ``,
	"runs/mock-start-error":  ``,
	"runs/mock-start-blocks": ``,
	"runs/mock-kill-after":   `at "2s" { stop = "mock-kill-after" }`,

	"runs/success":      ``,
	"runs/count-groups": ``,
	"runs/meta-env":     ``,
	"runs/hcl2":         ``,
	"runs/exit-code":    `task "t" { exit_code = 3 }`,
	"runs/dies-by-signal": `task "t" {
		exit_code   = 137
		exit_signal = 9
	}`,
	"runs/not-found":              `task "t" { start_error = "failed to launch command with executor: it is not there" }`,
	"runs/restart-fail":           `task "t" { exit_code = 1 }`,
	"runs/reschedule":             `task "t" { exit_code = 1 }`,
	"runs/prestart-fails":         `task "pre" { exit_code = 7 }`,
	"runs/poststop-after-failure": `task "main" { exit_code = 5 }`,
	"runs/leader": `
		task "lead" { run_for = "1s" }
		task "follow" { run_for = "1h" }`,
	"runs/prestart-sidecar": `task "main" { run_for = "1s" }`,
	"runs/lifecycle-all": `
		task "pre" { run_for = "500ms" }
		task "main" { run_for = "1500ms" }
		task "post" { run_for = "500ms" }
		task "stop" { run_for = "500ms" }`,
	"runs/kill-default-signal": `
		task "t" { run_for = "1h" }
		at "2s" { stop = "kill-default-signal" }`,
	"runs/kill-timeout": `
		task "t" {
			run_for    = "1h"
			kill_after = "1h"
		}
		at "2s" { stop = "kill-timeout" }`,
	"runs/service-check": `
		task "t" { run_for = "1h" }
		at "2s" { stop = "service-check" }`,

	"faults/r-system-fail": `
		task "t" { exit_code = 1 }
		until = "1500ms"`,
	"faults/two-mains-one-ends": `task "a" { 
		run_for = "1s"
		exit_code = 0
	}`,
	"faults/l-leader-ok-service": `at "3s" { stop = "l-leader-ok-service" }`,
	"faults/up-canary-fail": `
		task "a" {
			attempt "2" { exit_code = 1 }
			attempt "3" { exit_code = 1 }
			attempt "4" { exit_code = 1 }
		}
		at "3s" { update = "up-canary-fail.v2.nomad.hcl" }
		at "7s" { stop = "up-canary-fail" }`,
	"faults/up-healthy-deadline": `
		check "up-healthy-deadline" { status = "critical" }
		at "9s" { stop = "up-healthy-deadline" }`,
}

// A job test that asserts what Nomad did in a recording passes: the events with
// their messages, the states, and the times within the jitter of Nomad's delays.
func TestRecordedJobs(t *testing.T) {
	t.Parallel()
	for name, run := range recorded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, base := filepath.Split(filepath.Join("../../../testdata", name))
			s := newStage(t, txtar.Parse([]byte("-- it.nomadtest.hcl --\njob = \""+base+".nomad.hcl\"\nrun \"it\" {\n"+run+"\n}\n")))
			jobs, _ := filepath.Glob(dir + base + ".*hcl")
			for _, job := range jobs {
				text, err := os.ReadFile(job)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(s.dir, filepath.Base(job)), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(filepath.Join(dir, "expected", base+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var nomad recording.Recording
			if err := json.Unmarshal(text, &nomad); err != nil {
				t.Fatal(err)
			}
			o, err := s.play(s.prepare("it.nomadtest.hcl")[0], 1)
			if err != nil {
				t.Fatal(err)
			}
			here := recordingOf(o)
			for _, d := range recording.Compare(known(nomad), known(here), false) {
				t.Errorf("not what Nomad did: %v", d)
			}
			if !t.Failed() {
				compareTimes(t, nomad, here)
			}
		})
	}
}

// recordingOf describes a run as recordings do.
func recordingOf(o *jobtest.Outcome) (r recording.Recording) {
	began := map[string]time.Time{}
	for _, e := range o.Events {
		if e.Alloc != nil && began[e.Alloc.ID].IsZero() {
			began[e.Alloc.ID] = e.Time
		}
	}
	for _, a := range o.State.Allocs {
		made := recording.Alloc{
			Name: a.Name, Status: a.Status, Description: a.Description, Previous: a.Replaces != nil,
			Created: began[a.ID].Sub(o.Began).Seconds(), Tasks: map[string]recording.Task{},
		}
		for _, task := range a.Tasks {
			told := recording.Task{State: task.State, Failed: task.Failed, Restarts: int(task.Restarts)} //nolint:gosec // few
			for _, e := range o.Events {
				if body, ok := e.Body.(event.TaskEvent); ok && e.Alloc.ID == a.ID && e.Task == task.Name {
					told.Events = append(told.Events, recording.Event{
						At: e.Time.Sub(began[a.ID]).Seconds(), Type: body.Type, Message: body.DisplayMessage, Details: body.Details,
					})
				}
			}
			const ring = 10 // of Nomad
			told.Events = told.Events[max(0, len(told.Events)-ring):]
			made.Tasks[task.Name] = told
		}
		r.Allocs = append(r.Allocs, made)
	}
	return r
}

// known removes from a recording what mocks do not do and an outcome does not
// contain.
func known(r recording.Recording) (kept recording.Recording) {
	for _, a := range r.Allocs {
		a.Desired, a.Healthy, a.Version, a.Files, a.Trace = nil, nil, nil, nil, nil
		tasks := map[string]recording.Task{}
		for name, task := range a.Tasks {
			task.Stdout, task.Stderr = "", ""
			tasks[name] = task
		}
		a.Tasks = tasks
		kept.Allocs = append(kept.Allocs, a)
	}
	return kept
}

// compareTimes compares the delays of restarts, and when events were, if the recording
// tells.
func compareTimes(t *testing.T, nomad, here recording.Recording) {
	t.Helper()
	const (
		jitter   = 0.25 // of a delay, as in Nomad
		overhead = 0.5  // seconds that real tasks take to start and to end
	)
	for i, a := range nomad.Allocs {
		if math.Abs(a.Created-here.Allocs[i].Created) > overhead && a.Created != 0 {
			t.Errorf("%s was placed after %vs, in Nomad after %vs", a.Name, here.Allocs[i].Created, a.Created)
		}
		for name, task := range a.Tasks {
			delays := 0.0
			for k, e := range task.Events {
				at := here.Allocs[i].Tasks[name].Events[k]
				theirs, ours := delay(t, e), delay(t, at)
				if least := min(theirs, ours); max(theirs, ours) > least*(1+jitter) {
					t.Errorf("%s: the delay is %vs, in Nomad %vs", name, ours, theirs)
				}
				delays += max(theirs, ours) * jitter
				if e.At != 0 && math.Abs(at.At-e.At) > overhead+delays {
					t.Errorf("%s: %s after %vs, in Nomad after %vs", name, e.Type, at.At, e.At)
				}
			}
		}
	}
}

// delay is that of a restart, in seconds.
func delay(t *testing.T, e recording.Event) float64 {
	t.Helper()
	text := e.Details["start_delay"]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n).Seconds()
}
