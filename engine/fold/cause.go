package fold

import (
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Weight is the importance of a task event for a user.
type Weight int

const (
	// Ordinary events belong to the life of every task.
	Ordinary Weight = iota
	// Setback is an event after which the task has to start again or end.
	Setback
	// Trouble is an event about an error, even if the error does not fail the
	// task.
	Trouble
)

var weights = map[string]Weight{
	api.TaskSetupFailure:           Trouble,
	api.TaskFailedValidation:       Trouble,
	api.TaskDriverFailure:          Trouble,
	api.TaskArtifactDownloadFailed: Trouble,
	event.TaskHookFailed:           Trouble,
	api.TaskRestarting:             Setback,
	api.TaskSiblingFailed:          Setback,
}

// Weigh returns the weight of the task's latest event. An exit code is no
// trouble if the task was told to end.
func (t *Task) Weigh(e *api.TaskEvent) Weight {
	unclean := e.Type == api.TaskTerminated && (e.Details["exit_code"] != "0" || e.Details["signal"] != "0")
	if event.Fails(e) || unclean && !t.Stopping() {
		return Trouble
	}
	return weights[e.Type]
}

// Reason classifies causes.
type Reason int

// Reasons for the failure of a task.
const (
	Untold         Reason = iota // no event explains it
	Exited                       // its process ended with a code or by a signal
	NotStarted                   // the driver could not start it
	NoCommand                    // the command, or its working directory, does not exist
	NoImage                      // the driver could not get the image
	NotValid                     // the driver does not accept the config block
	NotDownloaded                // an artifact could not be downloaded
	OtherwiseFails               // see the message
)

var reasons = map[string]Reason{
	api.TaskDriverFailure:          NotStarted,
	api.TaskFailedValidation:       NotValid,
	api.TaskArtifactDownloadFailed: NotDownloaded,
}

// Cause is why a task failed.
type Cause struct {
	Reason      Reason
	Event       string // type of the event that explains it
	Message     string // of the event that explains it; for an exit, the driver's addition
	Code        int    // exit code
	Signal      int    // signal that ended the process; 0: none
	OutOfMemory bool   // the kernel killed it for that
}

// Cause returns why the task failed, from the latest event that explains it.
func (t *Task) Cause() Cause {
	for i, e := range slices.Backward(t.Events) {
		switch reason := reasons[e.Type]; {
		case e.Type == api.TaskTerminated:
			c := Cause{Reason: Exited, Event: e.Type, Message: e.Details["exit_message"], OutOfMemory: e.Details["oom_killed"] == "true"}
			c.Code, _ = strconv.Atoi(e.Details["exit_code"])
			c.Signal, _ = strconv.Atoi(e.Details["signal"])
			return c
		case reason == NotStarted && i > 0 && t.Events[i-1].Type == api.TaskDriverMessage && t.Events[i-1].Details["image"] != "":
			return Cause{Reason: NoImage, Event: e.Type, Message: e.DisplayMessage}
		case reason == NotStarted && e.Details[event.NoCommand] != "":
			return Cause{Reason: NoCommand, Event: e.Type, Message: e.DisplayMessage}
		case reason != Untold:
			return Cause{Reason: reason, Event: e.Type, Message: e.DisplayMessage}
		case e.Type != api.TaskNotRestarting && (event.Fails(e.TaskEvent) || weights[e.Type] == Trouble):
			return Cause{Reason: OtherwiseFails, Event: e.Type, Message: e.DisplayMessage}
		}
	}
	return Cause{}
}
