package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
)

func TestLastScreenFitsIntoTwentyLines(t *testing.T) {
	t.Parallel()
	tasks := []*api.Task{hooked("first", "prestart", false)}
	for i := range 30 {
		tasks = append(tasks, task(fmt.Sprintf("task-with-a-long-name-%d", i)))
	}
	j := job("big", 1, tasks...)
	for _, columns := range []int{40, 80, 200} {
		s := newStage(t, columns, Options{Jobs: []*api.Job{j}})
		a := alloc("big", 0, "11111111")
		s.running(a, "first", 0)
		for i := range 100 {
			s.writes(a, "first", event.Stdout, fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", 300)))
			s.happens(a, "first", event.Driver(strings.Repeat("a long message ", 20), nil))
		}
		s.happens(a, "first", event.DriverFailure(textError(strings.Repeat("it does not work ", 30))))
		s.dies(a, "first", 1, 0, "")
		s.happens(a, "first", event.DriverFailure(textError(strings.Repeat("it does not work ", 30))))
		s.say(a, "first", event.TaskState{State: "dead", Failed: true})
		for _, other := range tasks[1:] {
			s.say(a, other.Name, event.TaskState{State: "dead", Failed: true})
		}
		s.say(a, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: -1})
		s.ends(Result{ExitCode: 1})
		_, last, ok := strings.Cut(s.screen.String(), "✗ job big failed")
		if !ok {
			t.Fatalf("%d columns: no last screen:\n%s", columns, s.screen)
		}
		lines := strings.Split(strings.TrimSuffix(last, "\n"), "\n")
		if len(lines) > 20 {
			t.Errorf("%d columns: the last screen has %d lines", columns, len(lines))
		}
		for _, line := range lines[1:] {
			if n := len([]rune(line)); n > columns {
				t.Errorf("%d columns: a line has %d: %q", columns, n, line)
			}
		}
	}
}

func TestFailureHasAReasonAndWhereThereIsOneAHint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		events       []*api.TaskEvent
		reason, hint string
	}{
		{"exit code", []*api.TaskEvent{event.Terminated(3, 0, false, nil)}, "exit code 3", ""},
		{"exit code with a message", []*api.TaskEvent{event.Terminated(3, 0, false, textError("odd\nindeed"))}, "exit code 3: odd indeed", ""},
		{"out of memory", []*api.TaskEvent{event.Terminated(137, 9, true, nil)}, "killed by signal 9", "memory limit"},
		{"kill -9", []*api.TaskEvent{event.Terminated(137, 9, false, nil)}, "killed by signal 9", "kill -9"},
		{"crash", []*api.TaskEvent{event.Terminated(139, 11, false, nil)}, "killed by signal 11", "crash"},
		{"not executable", []*api.TaskEvent{event.Terminated(126, 0, false, nil)}, "exit code 126", "chmod"},
		{"not found by a shell", []*api.TaskEvent{event.Terminated(127, 0, false, nil)}, "exit code 127", "did not find a command"},
		{"not started", []*api.TaskEvent{event.DriverFailure(errNoCommand), event.NotRestarting("Error was unrecoverable")}, "could not start it: failed to launch", "work_dir"},
		{"no image", []*api.TaskEvent{event.Driver("Downloading image", map[string]string{"image": "x"}), event.DriverFailure(textError("Failed to pull"))}, "Failed to pull", "docker login"},
		{"wrong config", []*api.TaskEvent{event.FailedValidation("no such option"), event.NotRestarting("x")}, "no such option", "config block"},
		{"no directory", []*api.TaskEvent{event.SetupFailure(textError("disk full"))}, "failed to setup alloc: disk full", ""},
		{"restarts used up", []*api.TaskEvent{event.Terminated(1, 0, false, nil), event.NotRestarting("Exceeded allowed attempts")}, "exit code 1", ""},
		{"unknown", nil, "did not tell", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			failed := &Task{Name: "t"}
			for _, e := range c.events {
				failed.happened(begin, e)
			}
			if got := reason(failed); !strings.Contains(got, c.reason) {
				t.Errorf("reason %q, want %q in it", got, c.reason)
			}
			if got := hint(failed); c.hint == "" && got != "" || !strings.Contains(got, c.hint) {
				t.Errorf("hint %q, want %q in it", got, c.hint)
			}
		})
	}
}

func TestWaitingTasksNameWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	spec := func() []*api.Task {
		return []*api.Task{
			hooked("migrate", "prestart", false), hooked("proxy", "prestart", true),
			task("web"), hooked("warm-up", "poststart", false), hooked("clean-up", "poststop", false),
		}
	}
	for _, c := range []struct {
		name   string
		states map[string]string // pending where there is none
		want   []string
	}{
		{"prestart runs", map[string]string{"migrate": "running", "proxy": "running"}, []string{
			`web: the end of prestart task "migrate"`, `warm-up: the start of main task "web"`,
		}},
		{"sidecar does not start", map[string]string{"migrate": "dead"}, []string{
			`proxy: its start`, `web: the start of prestart sidecar "proxy"`, `warm-up: the start of main task "web"`,
		}},
		{"main does not start", map[string]string{"migrate": "dead", "proxy": "running"}, []string{
			`web: its start`, `warm-up: the start of main task "web"`,
		}},
		{"all run", map[string]string{"migrate": "dead", "proxy": "running", "web": "running", "warm-up": "running"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := NewModel([]*api.Job{job("j", 1, spec()...)})
			a := m.alloc(alloc("j", 0, "11111111"))
			for name, state := range c.states {
				a.byName[name].State = state
			}
			var got []string
			for _, w := range waiting(a) {
				got = append(got, w.Task.Name+": "+w.For)
			}
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("waiting %q, want %q", got, c.want)
			}
		})
	}
}

func TestTextIsWrappedAtSpaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"short", []string{"short"}},
		{"one two three four", []string{"one two", "three four"}},
		{"one two three four five six", []string{"one two", "three fou…"}},
		{"0123456789012", []string{"0123456789", "012"}},
	} {
		if got := wrap(c.text, 10, 2); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}

func TestModelKeepsNoMoreThanItShows(t *testing.T) {
	t.Parallel()
	m := NewModel([]*api.Job{job("j", 1, task("t"))})
	a := alloc("j", 0, "11111111")
	tails := make(tails)
	for i := range 10_000 {
		at := begin.Add(time.Duration(i) * time.Second)
		m.Apply(event.Event{Time: at, Alloc: a, Task: "t", Body: event.TaskEvent{TaskEvent: event.Started()}})
		m.Apply(event.Event{Time: at, Alloc: a, Task: "t", Body: event.TaskState{State: "running", Restarts: uint64(i)}})
		tails.add(a.ID, "t", []byte("a line of output\n"))
	}
	kept := m.Allocs[0].Tasks[0]
	if len(kept.Events) != keptEvents || cap(kept.Events) > 4*keptEvents {
		t.Errorf("%d events are kept, room for %d", len(kept.Events), cap(kept.Events))
	}
	if n := cap(tails[tailKey{a.ID, "t"}]); n > 4*keptTail {
		t.Errorf("%d bytes of output are kept", n)
	}
	if kept.Running != begin.Add(9_999*time.Second) || kept.Started != begin {
		t.Errorf("runs since %v, started at %v", kept.Running, kept.Started)
	}
}
