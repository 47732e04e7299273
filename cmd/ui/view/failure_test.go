package view

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
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

func TestFailureReasonsAndHints(t *testing.T) {
	t.Parallel()
	noCommand := event.DriverFailure(errNoCommand)
	noCommand.Details[event.NoCommand] = "true"
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
		{"no command", []*api.TaskEvent{noCommand, event.NotRestarting("Error was unrecoverable")}, "could not start it: failed to launch", "work_dir"},
		{"not started", []*api.TaskEvent{event.DriverFailure(textError("the engine is busy")), event.NotRestarting("x")}, "could not start it: the engine is busy", ""},
		{"no image", []*api.TaskEvent{event.Driver("Downloading image", map[string]string{"image": "x"}), event.DriverFailure(textError("Failed to pull"))}, "Failed to pull", "docker login"},
		{"wrong config", []*api.TaskEvent{event.FailedValidation("no such option"), event.NotRestarting("x")}, "no such option", "config block"},
		{"no artifact", []*api.TaskEvent{event.ArtifactDownloadFailed(textError("404"))}, "404", "artifact block"},
		{"no directory", []*api.TaskEvent{event.SetupFailure(textError("disk full"))}, "failed to setup alloc: disk full", ""},
		{"killed with a code", []*api.TaskEvent{event.Terminated(137, 0, false, nil)}, "exit code 137", "kill -9"},
		{"crashed with a code", []*api.TaskEvent{event.Terminated(139, 0, false, nil)}, "exit code 139", "crash"},
		{"restarts used up", []*api.TaskEvent{event.Terminated(1, 0, false, nil), event.NotRestarting("Exceeded allowed attempts")}, "exit code 1", ""},
		{"unknown", nil, "did not tell", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run, a := fold.New(nil), alloc("j", 0, "11111111")
			for _, e := range c.events {
				run.Apply(event.Event{Time: begin, Alloc: a, Task: "t", Body: event.TaskEvent{TaskEvent: e}})
			}
			failed := run.Task(event.Event{Alloc: a, Task: "t"}).Cause()
			if got := reason(failed); !strings.Contains(got, c.reason) {
				t.Errorf("reason %q, want %q in it", got, c.reason)
			}
			if got := hint(failed); c.hint == "" && got != "" || !strings.Contains(got, c.hint) {
				t.Errorf("hint %q, want %q in it", got, c.hint)
			}
		})
	}
}

func TestWaitDescriptions(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]fold.Wait{
		`its start`:                             {For: fold.ItsStart},
		`its restart`:                           {For: fold.ItsRestart},
		`the end of prestart task "migrate"`:    {For: fold.PrestartEnd, Tasks: []string{"migrate"}},
		`the end of prestart tasks "a", "b"`:    {For: fold.PrestartEnd, Tasks: []string{"a", "b"}},
		`the start of prestart sidecar "proxy"`: {For: fold.SidecarStart, Tasks: []string{"proxy"}},
		`the start of main task "web"`:          {For: fold.MainStart, Tasks: []string{"web"}},
	} {
		if got := awaited(w); got != want {
			t.Errorf("%v: %q, want %q", w, got, want)
		}
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

func TestTailsKeepNoMoreThanIsShown(t *testing.T) {
	t.Parallel()
	a, tails := alloc("j", 0, "11111111"), make(tails)
	for range 10_000 {
		tails.add(a.ID, "t", []byte("a line of output\n"))
	}
	if n := cap(tails[tailKey{a.ID, "t"}]); n > 4*keptTail {
		t.Errorf("%d bytes of output are kept", n)
	}
}

// A task that waited for others names them.
func TestAwaited(t *testing.T) {
	t.Parallel()
	one, two := []string{"a"}, []string{"a", "b"}
	for want, w := range map[string]fold.Wait{
		"its start":                               {For: fold.ItsStart},
		"its restart":                             {For: fold.ItsRestart},
		`the end of prestart task "a"`:            {For: fold.PrestartEnd, Tasks: one},
		`the start of prestart sidecar "a"`:       {For: fold.SidecarStart, Tasks: one},
		`the start of main tasks "a", "b"`:        {For: fold.MainStart, Tasks: two},
		`the end of prestart tasks "a", "b"`:      {For: fold.PrestartEnd, Tasks: two},
		`the start of prestart sidecars "a", "b"`: {For: fold.SidecarStart, Tasks: two},
	} {
		if got := awaited(w); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Wrapped text is no wider than the limit, and complete if there is room.
func FuzzWrap(f *testing.F) {
	f.Add("日本語サービス タスク", 12)
	f.Add("👩🏽e\u0301\u0301🇩🇪 a b", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		text, limit = visible.String(text), 1+int(uint(limit)%300)
		for _, line := range wrap(text, limit, 3) {
			if ui.Width(line) > max(limit, 10) || !utf8.ValidString(line) {
				t.Errorf("%q wrapped at %d has %q", text, limit, line)
			}
		}
		if got := wrap(text, 20*len(text), 3); strings.Join(got, "") != text {
			t.Errorf("%q in one line: %q", text, got)
		}
	})
}
