package fold

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// The latest event that explains the failure counts.
func TestCause(t *testing.T) {
	t.Parallel()
	failed, pulling := errors.New("no"), event.Driver("Downloading image", map[string]string{"image": "x"})
	noCommand := event.DriverFailure(failed)
	noCommand.Details[event.NoCommand] = "true"
	for name, c := range map[string]struct {
		events []*api.TaskEvent
		want   Cause
	}{
		"nothing":              {nil, Cause{}},
		"a life without fault": {[]*api.TaskEvent{event.Received(), event.Started()}, Cause{}},
		"an exit code":         {[]*api.TaskEvent{event.Terminated(3, 0, false, failed), event.NotRestarting("x")}, Cause{Reason: Exited, Event: api.TaskTerminated, Code: 3, Message: "no"}},
		"a signal":             {[]*api.TaskEvent{event.Terminated(137, 9, true, nil)}, Cause{Reason: Exited, Event: api.TaskTerminated, Code: 137, Signal: 9, OutOfMemory: true}},
		"no start":             {[]*api.TaskEvent{event.Terminated(3, 0, false, nil), event.DriverFailure(failed)}, Cause{Reason: NotStarted, Event: api.TaskDriverFailure, Message: "no"}},
		"no command":           {[]*api.TaskEvent{noCommand}, Cause{Reason: NoCommand, Event: api.TaskDriverFailure, Message: "no"}},
		"no image":             {[]*api.TaskEvent{pulling, event.DriverFailure(failed)}, Cause{Reason: NoImage, Event: api.TaskDriverFailure, Message: "no"}},
		"an image before":      {[]*api.TaskEvent{pulling, event.Started(), event.DriverFailure(failed)}, Cause{Reason: NotStarted, Event: api.TaskDriverFailure, Message: "no"}},
		"a wrong config block": {[]*api.TaskEvent{event.FailedValidation("odd")}, Cause{Reason: NotValid, Event: api.TaskFailedValidation, Message: "odd"}},
		"no artifact":          {[]*api.TaskEvent{event.ArtifactDownloadFailed(failed)}, Cause{Reason: NotDownloaded, Event: api.TaskArtifactDownloadFailed, Message: "no"}},
		"no directory":         {[]*api.TaskEvent{event.Terminated(127, 0, false, nil), event.SetupFailure(failed)}, Cause{Reason: OtherwiseFails, Event: api.TaskSetupFailure, Message: "failed to setup alloc: no"}},
	} {
		task := &Task{}
		for _, e := range c.events {
			task.happened(time.Unix(1, 0), e)
		}
		if diff := cmp.Diff(c.want, task.Cause()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An exit code is trouble unless the task was told to end.
func TestWeigh(t *testing.T) {
	t.Parallel()
	task := &Task{}
	for _, c := range []struct {
		e    *api.TaskEvent
		want Weight
	}{
		{event.Received(), Ordinary},
		{event.Started(), Ordinary},
		{event.Terminated(0, 0, false, nil), Ordinary},
		{event.Terminated(0, 9, false, nil), Trouble},
		{event.Terminated(1, 0, false, nil), Trouble},
		{event.Restarting(time.Second, "why", true), Setback},
		{event.SetupFailure(errors.New("no")), Trouble},
		{event.SiblingFailed("b"), Setback},
		{event.Killing(time.Second), Ordinary},
		{event.Terminated(143, 15, false, nil), Ordinary},
		{event.DriverFailure(errors.New("no")), Trouble},
		{event.Started(), Ordinary},
		{event.Terminated(143, 15, false, nil), Trouble},
	} {
		task.happened(time.Unix(1, 0), c.e)
		if got := task.Weigh(c.e); got != c.want {
			t.Errorf("%s: %d, want %d", c.e.Type, got, c.want)
		}
	}
}
