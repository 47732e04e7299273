package outcome

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

func TestFailureReasonsAndHints(t *testing.T) {
	t.Parallel()
	noCommand := event.DriverFailure(errors.New("failed to launch command"))
	noCommand.Details[event.NoCommand] = "true"
	for _, c := range []struct {
		name         string
		events       []*api.TaskEvent
		reason, hint string
	}{
		{"exit code", []*api.TaskEvent{event.Terminated(3, 0, false, nil)}, "exit code 3", ""},
		{"exit code with a message", []*api.TaskEvent{event.Terminated(3, 0, false, errors.New("odd\nindeed"))}, "exit code 3: odd indeed", ""},
		{"out of memory", []*api.TaskEvent{event.Terminated(137, 9, true, nil)}, "killed by signal 9", "memory limit"},
		{"kill -9", []*api.TaskEvent{event.Terminated(137, 9, false, nil)}, "killed by signal 9", "kill -9"},
		{"crash", []*api.TaskEvent{event.Terminated(139, 11, false, nil)}, "killed by signal 11", "crash"},
		{"not executable", []*api.TaskEvent{event.Terminated(126, 0, false, nil)}, "exit code 126", "chmod"},
		{"not found by a shell", []*api.TaskEvent{event.Terminated(127, 0, false, nil)}, "exit code 127", "did not find a command"},
		{"no command", []*api.TaskEvent{noCommand, event.NotRestarting("Error was unrecoverable")}, "could not start it: failed to launch", "work_dir"},
		{"not started", []*api.TaskEvent{event.DriverFailure(errors.New("the engine is busy")), event.NotRestarting("x")}, "could not start it: the engine is busy", ""},
		{"no image", []*api.TaskEvent{event.Driver("Downloading image", map[string]string{"image": "x"}), event.DriverFailure(errors.New("Failed to pull"))}, "Failed to pull", "docker login"},
		{"wrong config", []*api.TaskEvent{event.FailedValidation("no such option"), event.NotRestarting("x")}, "no such option", "config block"},
		{"no artifact", []*api.TaskEvent{event.ArtifactDownloadFailed(errors.New("404"))}, "404", "artifact block"},
		{"no directory", []*api.TaskEvent{event.SetupFailure(errors.New("disk full"))}, "failed to setup alloc: disk full", ""},
		{"killed with a code", []*api.TaskEvent{event.Terminated(137, 0, false, nil)}, "exit code 137", "kill -9"},
		{"crashed with a code", []*api.TaskEvent{event.Terminated(139, 0, false, nil)}, "exit code 139", "crash"},
		{"restarts used up", []*api.TaskEvent{event.Terminated(1, 0, false, nil), event.NotRestarting("Exceeded allowed attempts")}, "exit code 1", ""},
		{"unknown", nil, "unknown reason", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run, a := fold.New(nil), &event.Alloc{ID: "11111111", Name: "j.g[0]", Job: "j", Group: "g"}
			for _, e := range c.events {
				run.Apply(event.Event{Time: time.Unix(1, 0), Alloc: a, Task: "t", Body: event.TaskEvent{TaskEvent: e}})
			}
			failed := run.Task(event.Event{Alloc: a, Task: "t"}).Cause()
			if got := Why(failed); !strings.Contains(got, c.reason) {
				t.Errorf("reason %q, want %q in it", got, c.reason)
			}
			if got := Hint(failed); c.hint == "" && got != "" || !strings.Contains(got, c.hint) {
				t.Errorf("hint %q, want %q in it", got, c.hint)
			}
		})
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
